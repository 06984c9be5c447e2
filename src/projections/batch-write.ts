/**
 * How the rows of a batch get into tables. A projection declares each write once. Here they go one of two
 * ways: few rows as parts of the statement that moves the watermark (one round trip, one commit), many rows
 * copied in a transaction.
 */
import type { PgTable } from "drizzle-orm/pg-core";
import type { Tx } from "../database/connect.ts";
import { appendRows, type Cell } from "../database/table-rows.ts";
import { appendingPart, together, type Writing, writeNow } from "../database/writing.ts";
import { planAfresh } from "./plans.ts";

/** Rows of one batch for one table, or for a few that are written together. */
export type BatchWrite = {
  readonly rows: number;
  /** Parts of a statement, with parameters numbered from `first` on. Called for 1 to `MOST_IN_STATEMENT` rows. */
  parts(first: number): Writing;
  /** Writes any number of rows but none, inside a transaction. */
  copy(tx: Tx): Promise<void>;
};

/** Up to here parameters are quicker than COPY, which takes two round trips more. */
const MOST_IN_STATEMENT = 200;

/** Appends rows to a table. A row whose key exists already is an error: replays start from empty tables. */
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

/** Rows that are written by the same statement however many they are. */
export const inOneStatement = (rows: number, writing: (first: number) => Writing): BatchWrite => ({
  rows,
  parts: writing,
  copy: (tx) => writeNow(tx.sql, writing(1)),
});

const nonEmpty = (writes: readonly BatchWrite[]) => writes.filter(({ rows }) => rows > 0);

/** All writes of a batch, in this order, as parts of one statement; undefined when a table gets too many rows. */
export const asParts = (writes: readonly BatchWrite[], first: number): Writing | undefined =>
  writes.some(({ rows }) => rows > MOST_IN_STATEMENT)
    ? undefined
    : together(nonEmpty(writes).map(({ parts }) => parts))(first);

/** Makes all writes of a batch, in this order, inside a transaction. */
export const writeAll = async (tx: Tx, writes: readonly BatchWrite[]): Promise<void> => {
  await planAfresh(tx.sql);
  for (const write of nonEmpty(writes)) await write.copy(tx);
};
