/** Reading a whole register: page after page of one checkpoint. */
import { ask } from "../data/ask.ts";
import { graph, type ResultOf } from "../data/graph.ts";
import { AnswerFormError } from "../data/read.ts";
import { fromSeconds } from "../shown/moment.ts";
import type { Register, Row } from "./register.ts";

export const PAGE_ROWS = 1_000;

export const registerPage = graph(`query RegisterPage(
  $coinType: String!, $atCheckpoint: String, $atTimestamp: String, $after: String, $limit: Int!
) {
  capTable(
    coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
    after: $after, limit: $limit
  ) {
    coinType decimals checkpoint checkpointDigest checkpointTimestamp totalSupply issued holderCount root
    rows {
      holderId balance tokens unlocked locked cursor
      wallets { address balance groupId isFrozen }
    }
  }
}`);

type Page = NonNullable<ResultOf<typeof registerPage>["capTable"]>;

const rowOf = (row: Page["rows"][number]): Row => ({
  holderId: row.holderId,
  wallets: row.wallets.map((wallet) => ({ ...wallet, balance: BigInt(wallet.balance) })),
  balance: BigInt(row.balance),
  tokens: BigInt(row.tokens),
  unlocked: BigInt(row.unlocked),
  locked: BigInt(row.locked),
});

export type WhichRegister = {
  readonly coinType: string;
  /** Unix seconds; the newest without it. */
  readonly at?: string | undefined;
  /** Only so many of the largest rows; all without it. */
  readonly most?: number | undefined;
};

/**
 * The register of a token; null when nothing is known of it then.
 * @param onRows told how many rows have come, of how many
 */
export const loadRegister = async (
  { coinType, at, most = Number.POSITIVE_INFINITY }: WhichRegister,
  asking: { readonly key: string; readonly signal: AbortSignal },
  onRows: (rows: number, of: number) => void = () => undefined,
): Promise<Register | null> => {
  const page = async (atCheckpoint: string | null, after: string | null) => {
    const atTimestamp = atCheckpoint === null ? (at ?? null) : null;
    const limit = Math.min(PAGE_ROWS, most);
    const variables = { coinType, atCheckpoint, atTimestamp, after, limit };
    return (await ask(registerPage, variables, asking)).capTable;
  };
  const first = await page(null, null);
  if (first === null) return null;
  const rows = first.rows.map(rowOf);
  let last = first.rows.at(-1);
  onRows(rows.length, first.holderCount);
  while (last !== undefined && rows.length < Math.min(first.holderCount, most)) {
    const next = await page(first.checkpoint, last.cursor);
    if (next === null || next.rows.length === 0) break;
    for (const row of next.rows) rows.push(rowOf(row));
    last = next.rows.at(-1);
    onRows(rows.length, first.holderCount);
  }
  if (rows.length < Math.min(first.holderCount, most)) {
    throw new AnswerFormError(`the register: ${rows.length} of ${first.holderCount} rows came`);
  }
  return {
    coinType: first.coinType,
    decimals: first.decimals,
    checkpoint: first.checkpoint,
    checkpointDigest: first.checkpointDigest,
    timeMs: fromSeconds(first.checkpointTimestamp),
    totalSupply: first.totalSupply === null ? null : BigInt(first.totalSupply),
    issued: BigInt(first.issued),
    holderCount: first.holderCount,
    root: first.root,
    isLong: rows.length > PAGE_ROWS,
    rows,
  };
};
