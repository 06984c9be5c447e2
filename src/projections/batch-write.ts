/**
 * Writes a batch's rows: few as parts of the watermark's statement (one round trip, one commit),
 * many by COPY in a transaction.
 */
import type { PgTable } from "drizzle-orm/pg-core";
import type { Tx } from "../database/connect.ts";
import { appendRows, type Cell } from "../database/table-rows.ts";
import { appendingPart, together, type Writing, writeNow } from "../database/writing.ts";
import { planAfresh } from "./plans.ts";

/** Rows of one batch for one table, or for a few written together. */
export type BatchWrite = {
  readonly rows: number;
  /** Statement parts, parameters numbered from `first`, for 1 to `MOST_IN_STATEMENT` rows. */
  parts(first: number): Writing;
  /** Writes one or more rows inside a transaction. */
  copy(tx: Tx): Promise<void>;
};

/** Up to here parameters beat COPY, which takes two more round trips. */
const MOST_IN_STATEMENT = 200;

/** Appends rows. An existing key is an error: replays start from empty tables. */
export const append = <Complete extends Readonly<Record<string, Cell>>>(
  table: PgTable & { readonly $inferSelect: Complete },
  rows: readonly Complete[],
): BatchWrite => ({
  rows: rows.length,
  parts: (first) => {
    const { part, parameters } = appendingPart(table, rows, first);
    return { parts: [part], parameters };
  },
  copy: (tx) => appendRows(tx.sql, table, rows),
});

/** One statement writes the rows, however many. */
export const inOneStatement = (rows: number, writing: (first: number) => Writing): BatchWrite => ({
  rows,
  parts: writing,
  copy: (tx) => writeNow(tx.sql, writing(1)),
});

const nonEmpty = (writes: readonly BatchWrite[]) => writes.filter(({ rows }) => rows > 0);

/** All writes, in order, as parts of one statement; undefined when a table gets too many rows. */
export const asParts = (writes: readonly BatchWrite[], first: number): Writing | undefined =>
  writes.some(({ rows }) => rows > MOST_IN_STATEMENT)
    ? undefined
    : together(nonEmpty(writes).map(({ parts }) => parts))(first);

/** Makes all writes, in order, inside a transaction. */
export const writeAll = async (tx: Tx, writes: readonly BatchWrite[]): Promise<void> => {
  await planAfresh(tx.sql);
  for (const write of nonEmpty(writes)) await write.copy(tx);
};
