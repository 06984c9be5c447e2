/**
 * Writes a batch's rows: few as parts of the watermark's statement (one round trip, one commit),
 * many in a transaction, by COPY where rows are only appended.
 */
import type { PgTable } from "drizzle-orm/pg-core";
import type { Tx } from "../database/connect.ts";
import { appendRows, type Cell } from "../database/table-rows.ts";
import {
  appendingPart,
  type Numbered,
  together,
  type Writing,
  writeNow,
} from "../database/writing.ts";
import { planAfresh } from "./plans.ts";

/** Rows of one batch for one table, or for a few written together. */
export type BatchWrite = {
  readonly rows: number;
  /** Statement parts, parameters numbered from `first`, for one or more rows. */
  readonly parts: Numbered;
  /** Writes rows that are too many for parts, inside a transaction; without it, none are too many. */
  copy?(tx: Tx): Promise<void>;
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
export const inOneStatement = (rows: number, parts: Numbered): BatchWrite => ({ rows, parts });

const nonEmpty = (writes: readonly BatchWrite[]) => writes.filter(({ rows }) => rows > 0);

/** All writes, in order, as parts of one statement; undefined when a table gets too many rows. */
export const asParts = (writes: readonly BatchWrite[], first: number): Writing | undefined =>
  writes.some(({ rows }) => rows > MOST_IN_STATEMENT)
    ? undefined
    : together(nonEmpty(writes).map(({ parts }) => parts))(first);

/** Makes all writes inside a transaction. */
export const writeAll = async (tx: Tx, writes: readonly BatchWrite[]): Promise<void> => {
  await planAfresh(tx.sql);
  const parts: Numbered[] = [];
  for (const write of nonEmpty(writes)) {
    if (write.copy === undefined || write.rows <= MOST_IN_STATEMENT) parts.push(write.parts);
    else await write.copy(tx);
  }
  // Together, as each round trip waits for what else this process computes; last, as balances are locked from here on.
  if (parts.length > 0) await writeNow(tx.sql, together(parts)(1));
};
