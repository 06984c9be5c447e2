/**
 * Live set: the current objects of one kind; folds a batch of changes into it and into the owners'
 * balances.
 *
 * An owner's gain is the difference between the object's row and its new state, computed in the
 * database by one statement.
 *
 * Applying a batch twice would restore old states; the watermark, moved in the same transaction,
 * prevents that. To replay, clear the pipeline's tables first.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { columnNames, columnsByKey, type RowSource } from "../database/table-rows.ts";
import { rowsAfterMark, type Writing } from "../database/writing.ts";
import { type BalancePart, foldBalances } from "./balances.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";

/** An object by its coin, which is part of its type and never changes. */
export type ObjectKey = { readonly coinType: string; readonly objectId: string };

/** Names of Move types and addresses hold no space. */
export const objectKey = ({ coinType, objectId }: ObjectKey): string => `${coinType} ${objectId}`;

/** An object's state at the end of a batch; null if it is gone. */
export type ObjectChange<State> = ObjectKey & { readonly state: State | null };

export type LiveSet = {
  /** Has the columns `coin_type` and `object_id` (its key), `owner`, and the state's. */
  readonly table: PgTable;
  /** Column that counts towards the owner's balance. */
  readonly held: string;
  readonly part: BalancePart;
};

/**
 * Folds changes into a live set and its owners' balances: each object at most once, with its final
 * state. Throws ImpossibleBalanceError (stop).
 */
export const foldChanges = <State extends Cells>(
  set: LiveSet,
  changes: readonly ObjectChange<State>[],
): BatchWrite => {
  const rows = changes.map(({ state, ...key }) => ({ ...key, ...state }));
  return inOneStatement(rows.length, (first) =>
    folding(set, rowsAfterMark(set.table, rows, first)),
  );
};

type Cells = Readonly<Record<string, string | bigint>>;

/** Primary key of tables with a row per object. */
export const KEY_COLUMNS = ["object_id", "coin_type"];

/**
 * Condition that a row `o` has a key of `query`. The list of ids, and `is true`, which makes no join, keep the plan from
 * starting at the table.
 */
export const keyIn = (query: string): string => `
  o.object_id = any(array(select object_id from (${query}) as given))
  and ((o.object_id, o.coin_type) in (select object_id, coin_type from (${query}) as given)) is true`;

/** Folds the changes that a query yields as rows of the set's table; gone objects have no owner. */
const folding = ({ table, held, part }: LiveSet, changed: RowSource): Writing => {
  const name = getTableName(table);
  const columns = columnNames(table);
  const all = columns.join(", ");
  const state = columns.filter((column) => !KEY_COLUMNS.includes(column));
  const excluded = state.map((column) => `excluded.${column}`).join(", ");
  return foldBalances(part, {
    parameters: changed.parameters,
    before: [
      `changed as materialized (${changed.text})`,
      `old as materialized (
        select old.* from changed c, lateral (
          select o.coin_type, o.owner, o.${held} as held from ${name} o
          where o.coin_type = c.coin_type and o.object_id = c.object_id limit 1
        ) old
      )`,
      `removed as (delete from ${name} o where ${keyIn("select * from changed where owner is null")})`,
      `written as (
        insert into ${name} (${all}) select ${all} from changed where owner is not null
        on conflict (${KEY_COLUMNS.join(", ")}) do update set (${state.join(", ")}) = row(${excluded})
      )`,
    ],
    gained: `
      select coin_type, owner, sum(held) as held, sum(objects)::integer as objects
      from (
        select coin_type, owner, - held as held, -1 as objects from old
        union all
        select coin_type, owner, ${held}, 1 from changed where owner is not null
      ) each_object
      group by coin_type, owner
      having sum(held) <> 0 or sum(objects) <> 0`,
  });
};

/**
 * Rows of these objects in a table with their key, by its columns' keys; numbers as Postgres sends them. No object may be
 * given twice.
 */
export const currentObjects = async <Row extends object>(
  sql: Sql,
  table: PgTable,
  objects: readonly ObjectKey[],
): Promise<Row[]> =>
  objects.length === 0
    ? []
    : await sql.unsafe<Row[]>(
        `select ${columnsByKey(table)}
         from unnest($1::text[], $2::text[]) as given (given_coin_type, given_object_id), lateral (
           select * from ${getTableName(table)} o
           where o.coin_type = given_coin_type and o.object_id = given_object_id limit 1
         ) as found`,
        [
          texts(objects.map(({ coinType }) => coinType)),
          texts(objects.map(({ objectId }) => objectId)),
        ],
        { prepare: true },
      );
