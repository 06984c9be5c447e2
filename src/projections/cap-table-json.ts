/** A cap table as one JSON document, byte for byte the same everywhere. */

import { type CapPlace, placeOf, shareOf } from "../../client/cap-rows.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { type CapRow, type CapTables, createCapTables } from "./cap-tables.ts";
import type { GuardedReads } from "./guarded-reads.ts";

/** Table head, as in GraphQL's `capTable`. */
export type CapTableHead = {
  readonly coinType: string;
  readonly decimals: number | null;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: bigint;
  readonly checkpointDigest: string;
  readonly totalSupply: bigint | null;
  readonly issued: bigint;
  readonly holderCount: number;
  readonly root: string;
};

export type TableOf = Pick<CapTableHead, "coinType" | "decimals" | "totalSupply"> & {
  /** The table is as of this checkpoint's end. */
  readonly mark: CheckpointMark;
};

export type SeenTableOf = TableOf & {
  /** From the newest metadata; null while none was seen. */
  readonly symbol: string | null;
};

/**
 * Rows read per page, about 30 MB. A register too long to cache is rebuilt for each page, in
 * seconds.
 */
const ROWS_PER_PAGE = 30_000;

/**
 * Reads a past table: its head, and its rows page by page.
 * @param tables the process's register cache
 */
export const readCapTable = async (
  db: GuardedReads,
  { coinType, decimals, totalSupply, mark }: TableOf,
  tables: CapTables = createCapTables(),
): Promise<{ readonly head: CapTableHead; readonly rows: AsyncIterable<readonly CapRow[]> }> => {
  const { sequence: checkpoint, timestampMs } = mark;
  const at = { checkpoint, timestampMs };
  const totals = await tables.totals(db, { coinType, at });
  async function* rows(): AsyncGenerator<readonly CapRow[]> {
    for (let after: CapPlace | undefined; ; ) {
      const page = await tables.rows(db, { coinType, at, limit: ROWS_PER_PAGE, after });
      const end = page.at(-1);
      if (end === undefined) return;
      yield page;
      if (page.length < ROWS_PER_PAGE) return;
      after = placeOf(end);
    }
  }
  return { head: headOf({ coinType, decimals, totalSupply, mark }, totals), rows: rows() };
};

export const headOf = (
  { coinType, decimals, totalSupply, mark }: TableOf,
  { issued, holderCount, root }: Pick<CapTableHead, "issued" | "holderCount" | "root">,
): CapTableHead => ({
  coinType,
  decimals,
  checkpoint: mark.sequence,
  checkpointTimestamp: mark.timestampMs / 1_000n,
  checkpointDigest: mark.digest,
  totalSupply,
  issued,
  holderCount,
  root,
});

/** A chunk of a table's file, with its row count. */
export type TablePiece<Data = string> = { readonly data: Data; readonly rows: number };

/** One document; rows as in GraphQL's `capTable`, amounts as decimal strings. */
export async function* capTableJson(
  head: CapTableHead,
  rows: AsyncIterable<readonly CapRow[]> | Iterable<readonly CapRow[]>,
): AsyncGenerator<TablePiece> {
  const printed = (value: unknown) =>
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "bigint" ? inner.toString() : inner,
    );
  yield { data: `${printed(head).slice(0, -1)},"rows":[`, rows: 0 };
  let separator = "\n";
  for await (const page of rows) {
    const text = page.map((row) => printed({ ...row, share: shareOf(row.balance, head.issued) }));
    yield { data: `${separator}${text.join(",\n")}`, rows: page.length };
    separator = ",\n";
  }
  yield { data: "\n]}\n", rows: 0 };
}
