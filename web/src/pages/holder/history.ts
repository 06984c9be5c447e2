/** The history of a holder over all wallets that it had then, or of one wallet without a holder. */
import { type Asking, ask, graph } from "../../data/ask.ts";
import { momentVariables } from "../../data/moment.ts";
import { NOW, PAST, readAll, useRead } from "../../data/queries.ts";
import type { CAUSES } from "../../register/words.ts";
import { fromSeconds } from "../../shown/moment.ts";

const holderPage = graph(`query HolderHistory(
  $coinType: String!, $holderId: String!, $after: String, $atCheckpoint: String, $atTimestamp: String
) {
  holder(
    coinType: $coinType, holderId: $holderId, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp
  ) {
    since
    history(after: $after, limit: 1000, order: DESC) {
      cursor cause part change totalAfter wallet counterparty counterpartyHolderId checkpointTimestamp
      txDigest
    }
  }
}`);

const walletPage = graph(`query WalletHistory($coinType: String!, $owner: String!, $after: String) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, limit: 1000) {
    cursor cause part change checkpointTimestamp txDigest
  }
}`);

/** Pages of 1,000 changes that are read. */
const MAX_PAGES = 10;

export type Change = {
  readonly cursor: string;
  readonly timeMs: number;
  readonly cause: keyof typeof CAUSES;
  /** Null where a wallet joined or left the holder. */
  readonly part: "TOKENS" | "GRANTS" | null;
  readonly change: bigint;
  /** Of the holder, over all wallets that it had then. */
  readonly totalAfter: bigint;
  readonly wallet: string;
  /** The other wallet, where the transaction changed one other balance. */
  readonly counterparty: string | null;
  readonly counterpartyHolderId: string | null;
  readonly txDigest: string;
};

export type History = {
  /** Newest first. */
  readonly changes: readonly Change[];
  /** Whether it is all of them. */
  readonly isWhole: boolean;
  /** Milliseconds; null for a wallet without a holder. */
  readonly sinceMs: number | null;
};

const ofHolder = async (
  coinType: string,
  holderId: string,
  at: string | undefined,
  asking: Asking,
): Promise<History> => {
  let since: string | null = null;
  const { rows, whole } = await readAll(
    MAX_PAGES,
    async (after) => {
      const variables = { coinType, holderId, after, ...momentVariables(at) };
      const { holder } = await ask(holderPage, variables, asking);
      since = holder?.since ?? null;
      return holder?.history ?? null;
    },
    ({ cursor }) => cursor,
  );
  const changes = rows.map((row) => ({
    ...row,
    change: BigInt(row.change),
    totalAfter: BigInt(row.totalAfter),
    timeMs: fromSeconds(row.checkpointTimestamp),
  }));
  return { changes, isWhole: whole, sinceMs: since === null ? null : fromSeconds(since) };
};

const ofWallet = async (
  coinType: string,
  owner: string,
  untilMs: number | undefined,
  asking: Asking,
): Promise<History> => {
  const { rows, whole } = await readAll(
    MAX_PAGES,
    async (after) => (await ask(walletPage, { coinType, owner, after }, asking)).balanceChanges,
    ({ cursor }) => cursor,
  );
  const changes: Change[] = [];
  let totalAfter = 0n;
  for (const row of rows) {
    const timeMs = fromSeconds(row.checkpointTimestamp);
    if (untilMs !== undefined && timeMs > untilMs) break;
    const change = BigInt(row.change);
    totalAfter += change;
    const none = { counterparty: null, counterpartyHolderId: null };
    changes.push({ ...row, ...none, change, totalAfter, timeMs, wallet: owner });
  }
  return { changes: changes.reverse(), isWhole: whole, sinceMs: null };
};

/**
 * @param of a holder's number, or the address of a wallet without one
 * @param untilMs the time of `at`; undefined: now
 */
export const useHistory = (
  coinType: string,
  of: string,
  { at, untilMs }: { readonly at: string | undefined; readonly untilMs: number | undefined },
) =>
  useRead(at === undefined ? NOW : PAST, ["history", coinType, of, at ?? "newest"], (asking) =>
    of.startsWith("0x")
      ? ofWallet(coinType, of, untilMs, asking)
      : ofHolder(coinType, of, at, asking),
  );
