/**
 * Ranges of checkpoints: tables that keep what stood at the end of every checkpoint, and what stands now.
 * A row says that a state stood after the checkpoints [`checkpoint`, `until`).
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import { columnNames, columnsByKey, type Row } from "../database/table-rows.ts";
import { NOTHING, rowsAfterMark, type Writing, writeNow } from "../database/writing.ts";

/** `until` of what stands now: later than any checkpoint. */
export const STILL_OPEN = 2n ** 63n - 1n;

/** A table of ranges, with the columns `checkpoint` and `until`. */
export type RangeTable = {
  readonly table: PgTable;
  /** The columns that say what has a state, all text; with `checkpoint` they are its primary key. */
  readonly key: readonly string[];
};

/**
 * The ranges that are open, of these keys (the values of `key`, in its order), with the table's keys;
 * numerics as Postgres sends them.
 */
export const openRanges = async <Open extends object>(
  sql: Sql,
  { table, key }: RangeTable,
  keys: readonly (readonly string[])[],
): Promise<Open[]> => {
  if (keys.length === 0) return [];
  const arrays = key.map((_, column) => `$${column + 1}::text[]`);
  const given = key.map((name) => `given_${name}`);
  // The newest range of each key: found from its key, however many are behind it.
  return await sql.unsafe<Open[]>(
    `select ${columnsByKey(table)}
     from unnest(${arrays.join(", ")}) as given (${given.join(", ")}), lateral (
       select * from ${getTableName(table)} r
       where ${key.map((name) => `r.${name} = given_${name}`).join(" and ")}
       order by r.checkpoint desc limit 1
     ) as newest
     where until = ${STILL_OPEN}`,
    key.map((_, column) => texts(keys.map((values) => values[column] ?? ""))),
    { prepare: true },
  );
};

/** The ranges of a coin that stood at the end of a checkpoint, by their keys; numerics as Postgres sends them. */
export const rangesAt = async <Stood extends object>(
  sql: Sql,
  { table, key }: RangeTable,
  coinType: string,
  at: bigint,
): Promise<Stood[]> =>
  await sql.unsafe<Stood[]>(
    `select ${columnsByKey(table)} from ${getTableName(table)}
     where coin_type = $1 and checkpoint <= $2 and until > $2 order by ${key.join(", ")}`,
    [coinType, `${at}`],
  );

/**
 * What appends ranges and ends those that are there, with parameters that are numbered from `first` on.
 * No range may be given twice.
 */
export const keepingRanges = (
  { table, key }: RangeTable,
  ranges: readonly Row[],
  first: number,
): Writing => {
  if (ranges.length === 0) return NOTHING;
  const name = getTableName(table);
  const { text, parameters } = rowsAfterMark(table, ranges, first);
  return {
    parts: [
      `kept_${name} as (
        insert into ${name} (${columnNames(table).join(", ")}) ${text}
        on conflict (${key.join(", ")}, checkpoint) do update set until = excluded.until
      )`,
    ],
    parameters,
  };
};

/** The same inside a transaction, as one statement. */
export const keepRanges = (tx: Tx, of: RangeTable, ranges: readonly Row[]): Promise<void> =>
  writeNow(tx.sql, keepingRanges(of, ranges, 1));
