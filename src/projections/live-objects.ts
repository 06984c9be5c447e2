/**
 * A live set: the objects of one kind as they stand now, and how a batch of changes is folded into it
 * and into the balances of the objects' owners.
 *
 * What an owner gains or loses is the difference between the object's row and its new state, computed
 * where the rows are. The work is in proportion to the changes, and it is one statement: of few changes
 * the one that moves the watermark, of many one that selects from a temporary table.
 *
 * A batch applied twice would put objects back to states they have left. The watermark, moved in the
 * same transaction, refuses a batch that was applied before; to replay, clear the pipeline's tables and
 * start over.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import {
  columnNames,
  columnsByKey,
  copyRows,
  type Row,
  type RowSource,
} from "../database/table-rows.ts";
import { rowsAfterMark, type Writing, writeNow } from "../database/writing.ts";
import { type BalancePart, foldBalances } from "./balances.ts";
import type { BatchWrite } from "./batch-write.ts";

/** What became of an object in a batch: how it stands at the end, or null when it no longer does. */
export type ObjectChange<State> = { readonly objectId: string; readonly state: State | null };

/** Where a kind of object is kept and what it is worth to its owner. */
export type LiveSet = {
  /** Has the columns `object_id` (its key), `coin_type`, `owner`, and the state's. */
  readonly table: PgTable;
  /** Name of the column that counts towards the owner's balance. */
  readonly held: string;
  readonly part: BalancePart;
};

/**
 * Folds changes into a live set and its owners' balances: each object at most once, with its final state of
 * the batch. Throws ImpossibleBalanceError (stop).
 */
export const foldChanges = <State extends Cells>(
  set: LiveSet,
  changes: readonly ObjectChange<State>[],
): BatchWrite => {
  const rows = changes.map(({ objectId, state }) => ({ objectId, ...state }));
  return {
    rows: rows.length,
    parts: (first) => folding(set, rowsAfterMark(set.table, rows, first)),
    copy: async (tx) => {
      const source = await copyAside(tx, set.table, rows);
      await writeNow(tx.sql, folding(set, { text: `select * from ${source}`, parameters: [] }));
    },
  };
};

type Cells = Readonly<Record<string, string | bigint>>;

/** What folds the changes that a query yields, as rows of the set's table; gone objects have no owner. */
const folding = ({ table, held, part }: LiveSet, changed: RowSource): Writing => {
  const name = getTableName(table);
  const columns = columnNames(table);
  const all = columns.join(", ");
  const excluded = columns.map((column) => `excluded.${column}`).join(", ");
  return foldBalances(part, {
    parameters: changed.parameters,
    before: [
      `changed as materialized (${changed.text})`,
      `stood as materialized (
        select stood.* from changed c, lateral (
          select o.coin_type, o.owner, o.${held} as held from ${name} o
          where o.object_id = c.object_id limit 1
        ) stood
      )`,
      `removed as (
        delete from ${name} o
        where o.object_id = any(array(select c.object_id from changed c where c.owner is null))
      )`,
      `written as (
        insert into ${name} (${all}) select ${all} from changed where owner is not null
        on conflict (object_id) do update set (${all}) = row(${excluded})
      )`,
    ],
    gained: `
      select coin_type, owner, sum(held) as held, sum(objects)::integer as objects
      from (
        select coin_type, owner, - held as held, -1 as objects from stood
        union all
        select coin_type, owner, ${held}, 1 from changed where owner is not null
      ) each_object
      group by coin_type, owner
      having sum(held) <> 0 or sum(objects) <> 0`,
  });
};

/**
 * Copies rows into a temporary table of the session, with the columns of `shape` and none of its
 * constraints. Every commit empties it. Returns its name.
 */
const copyAside = async (tx: Tx, shape: PgTable, rows: readonly Row[]): Promise<string> => {
  const name = `changed_${getTableName(shape)}`;
  const made = tx.sql.unsafe(
    `create temporary table if not exists ${name} on commit delete rows as
     select * from ${getTableName(shape)} with no data`,
  );
  // Sent together, in this order.
  await Promise.all([made.execute(), copyRows(tx.sql, name, shape, rows)]);
  return name;
};

/** Objects of these ids as they stand, with the table's keys; numbers as Postgres sends them. */
export const standing = async <Row extends object>(
  sql: Sql,
  { table }: LiveSet,
  objectIds: readonly string[],
): Promise<Row[]> =>
  objectIds.length === 0
    ? []
    : await sql.unsafe<Row[]>(
        `select ${columnsByKey(table)} from ${getTableName(table)} where object_id = any($1::text[])`,
        [texts(objectIds)],
        { prepare: true },
      );
