/**
 * Ranges of checkpoints: tables of states at the end of every checkpoint, present ones included. A row says that a
 * state held after the checkpoints [`checkpoint`, `until`).
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { columnNames, columnsByKey, type Row } from "../database/table-rows.ts";
import { rowsAfterMark } from "../database/writing.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";

/** `until` of a present state: later than any checkpoint. */
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

/** The ranges of a coin that held at the end of a checkpoint, by their keys; numerics as Postgres sends them. */
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

/** Appends ranges, and ends those that exist. No range may be given twice. */
export const keepRanges = ({ table, key }: RangeTable, ranges: readonly Row[]): BatchWrite =>
  inOneStatement(ranges.length, (first) => {
    const name = getTableName(table);
    const { text, parameters } = rowsAfterMark(table, ranges, first);
    const part = `kept_${name} as (
      insert into ${name} (${columnNames(table).join(", ")}) ${text}
      on conflict (${key.join(", ")}, checkpoint) do update set until = excluded.until
    )`;
    return { parts: [part], parameters };
  });
