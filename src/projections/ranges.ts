/**
 * Tables of states over ranges of checkpoints, current ones included: a row held over
 * [`checkpoint`, `until`).
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { columnNames, columnsByKey, type Row } from "../database/table-rows.ts";
import { rowsAfterMark } from "../database/writing.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";

/** `until` of a current state: later than any checkpoint. */
export const STILL_OPEN = 2n ** 63n - 1n;

/** A table with the columns `checkpoint` and `until`. */
export type RangeTable = {
  readonly table: PgTable;
  /** Text columns that identify the subject; with `checkpoint` they are the primary key. */
  readonly key: readonly string[];
};

/**
 * Open ranges of these keys (values in the order of `key`), with the table's keys; numerics as
 * Postgres sends them.
 */
export const openRanges = async <Open extends object>(
  sql: Sql,
  { table, key }: RangeTable,
  keys: readonly (readonly string[])[],
): Promise<Open[]> => {
  if (keys.length === 0) return [];
  const arrays = key.map((_, column) => `$${column + 1}::text[]`);
  const given = key.map((name) => `given_${name}`);
  // The newest range per key, found by index however many are behind it.
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

/** A coin's ranges at the end of a checkpoint, by key; numerics as Postgres sends them. */
export const rangesAt = async <Stored extends object>(
  sql: Sql,
  { table, key }: RangeTable,
  coinType: string,
  at: bigint,
): Promise<Stored[]> =>
  await sql.unsafe<Stored[]>(
    `select ${columnsByKey(table)} from ${getTableName(table)}
     where coin_type = $1 and checkpoint <= $2 and until > $2 order by ${key.join(", ")}`,
    [coinType, `${at}`],
  );

/** Appends ranges and closes existing ones. No range may be given twice. */
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
