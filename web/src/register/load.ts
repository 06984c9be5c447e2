/** Reading a register: all of it, page after page of one checkpoint, or the rows that are meant. */
import { ask } from "../data/ask.ts";
import { graph, type ResultOf } from "../data/graph.ts";
import { AnswerFormError } from "../data/read.ts";
import { fromSeconds } from "../shown/moment.ts";
import type { Register, Row } from "./register.ts";

export const PAGE_ROWS = 1_000;

export const registerPage = graph(`query RegisterPage(
  $coinType: String!, $atCheckpoint: String, $atTimestamp: String, $after: String, $limit: Int!
  $holder: String, $having: RowsWith
) {
  capTable(
    coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
    after: $after, limit: $limit, holder: $holder, having: $having
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
};

/** Which of its rows. */
export type WhichRows = {
  /** Of this holder, by number, or of the one that this wallet is in. */
  readonly holder?: string;
  readonly having?: "NO_HOLDER" | "FROZEN_BALANCE";
};

type Asking = { readonly key: string; readonly signal: AbortSignal };

const registerOf = (page: Page, rows: readonly Row[]): Register => ({
  coinType: page.coinType,
  decimals: page.decimals,
  checkpoint: page.checkpoint,
  checkpointDigest: page.checkpointDigest,
  timeMs: fromSeconds(page.checkpointTimestamp),
  totalSupply: page.totalSupply === null ? null : BigInt(page.totalSupply),
  issued: BigInt(page.issued),
  holderCount: page.holderCount,
  root: page.root,
  isLong: page.holderCount > PAGE_ROWS,
  rows,
});

/**
 * A register of which only the rows that are meant are read, a thousand of them at most; its sums are those
 * of all rows. Null when nothing is known of the token then.
 */
export const loadRows = async (
  { coinType, at, atCheckpoint }: WhichRegister & { readonly atCheckpoint?: string },
  which: WhichRows,
  asking: Asking,
): Promise<Register | null> => {
  const when = { atCheckpoint: atCheckpoint ?? null, atTimestamp: at ?? null, after: null };
  const asked = { coinType, ...when, limit: PAGE_ROWS, ...which };
  const { capTable } = await ask(registerPage, asked, asking);
  return capTable === null ? null : registerOf(capTable, capTable.rows.map(rowOf));
};

/**
 * The register of a token; null when nothing is known of it then.
 * @param onRows told how many rows have come, of how many
 */
export const loadRegister = async (
  { coinType, at }: WhichRegister,
  asking: Asking,
  onRows: (rows: number, of: number) => void = () => undefined,
): Promise<Register | null> => {
  const page = async (atCheckpoint: string | null, after: string | null) => {
    const atTimestamp = atCheckpoint === null ? (at ?? null) : null;
    const variables = { coinType, atCheckpoint, atTimestamp, after, limit: PAGE_ROWS };
    return (await ask(registerPage, variables, asking)).capTable;
  };
  const first = await page(null, null);
  if (first === null) return null;
  const rows = first.rows.map(rowOf);
  let last = first.rows.at(-1);
  onRows(rows.length, first.holderCount);
  while (last !== undefined && rows.length < first.holderCount) {
    const next = await page(first.checkpoint, last.cursor);
    if (next === null || next.rows.length === 0) break;
    for (const row of next.rows) rows.push(rowOf(row));
    last = next.rows.at(-1);
    onRows(rows.length, first.holderCount);
  }
  if (rows.length < first.holderCount) {
    throw new AnswerFormError(`the register: ${rows.length} of ${first.holderCount} rows came`);
  }
  return registerOf(first, rows);
};
