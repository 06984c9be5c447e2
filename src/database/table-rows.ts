/** Writes rows by the columns of a drizzle declaration, the only list of a table's columns. */
import { type AnyColumn, getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { byteas, texts } from "./column-arrays.ts";
import { type CopyRow, copyInto } from "./copy.ts";
import type { Sql } from "./session.ts";

export type Cell = string | bigint | number | boolean | Uint8Array | null;

/** A row by the keys of its declaration; missing cells are null. */
export type Row = Readonly<Record<string, Cell | undefined>>;

/** Appends rows inside the transaction of `sql`. Duplicate keys are errors. */
export const appendRows = async <Complete extends Readonly<Record<string, Cell>>>(
  sql: Sql,
  table: PgTable & { readonly $inferSelect: Complete },
  rows: readonly Complete[],
): Promise<void> => {
  if (rows.length > 0) await copyRows(sql, getTableName(table), table, rows);
};

/** Inserts the rows whose keys are new. */
export const insertNew = async (sql: Sql, table: PgTable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return;
  const { text, parameters } = givenRows(table, rows, 1);
  await sql.unsafe(
    `insert into ${getTableName(table)} (${columnNames(table).join(", ")})
     select * from ${text} on conflict do nothing`,
    [...parameters],
  );
};

/** Deletes all rows. Not `truncate`: older snapshots would see empty tables. */
export const emptyTables = async (sql: Sql, tables: readonly PgTable[]): Promise<void> => {
  for (const table of tables) await sql`delete from ${sql(getTableName(table))}`;
};

/** Copies rows into `target`, a table with the columns of `shape`. */
export const copyRows = (
  sql: Sql,
  target: string,
  shape: PgTable,
  rows: Iterable<Row>,
): Promise<void> => {
  const columns = columnsOf(shape);
  return copyInto(sql, target, columnNames(shape), rows, (row, fields) => {
    for (const { key, type } of columns) writeField(fields, type, row[key] ?? null);
  });
};

/** Key in the declaration, name in Postgres, and type. */
type Column = { readonly key: string; readonly name: string; readonly type: string };

type Columns = { readonly columns: readonly Column[]; readonly names: readonly string[] };

/** Cached per table: building them costs more than a small batch. */
const known = new WeakMap<PgTable, Columns>();

const layoutOf = (table: PgTable): Columns => {
  const before = known.get(table);
  if (before !== undefined) return before;
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => ({
    key,
    name: column.name,
    // The collation belongs to the column.
    type: column.getSQLType().replace(/ collate .*/, ""),
  }));
  const layout = { columns, names: columns.map(({ name }) => name) };
  known.set(table, layout);
  return layout;
};

const columnsOf = (table: PgTable): readonly Column[] => layoutOf(table).columns;

const writeField = (fields: CopyRow, type: string, value: Cell): void => {
  if (value === null || typeof value === "string") fields.text(value);
  else if (typeof value === "boolean") fields.boolean(value);
  else if (typeof value === "number") {
    if (type === "smallint") fields.smallint(value);
    else fields.integer(value);
  } else if (typeof value === "bigint") {
    if (type === "bigint") fields.bigint(value);
    else fields.numeric(value);
  } else fields.bytea(value);
};

export const columnNames = (table: PgTable): readonly string[] => layoutOf(table).names;

/** Select list that names columns by their keys. */
export const columnsByKey = (table: PgTable): string =>
  columnsOf(table)
    .map(({ key, name }) => (key === name ? key : `${name} as "${key}"`))
    .join(", ");

/** A query or part of one, with its parameters. */
export type RowSource = { readonly text: string; readonly parameters: readonly string[] };

/** Rows as a `from` item `given`, one array per column, parameters numbered from `first`. */
export const givenRows = (shape: PgTable, rows: readonly Row[], first: number): RowSource => {
  const columns = columnsOf(shape);
  const arrays = columns.map(({ type }, n) => `$${first + n}::${type}[]`);
  return {
    text: `unnest(${arrays.join(", ")}) as given (${columnNames(shape).join(", ")})`,
    parameters: columns.map((column) => arrayOf(column, rows)),
  };
};

const arrayOf = ({ key, type }: Column, rows: readonly Row[]): string => {
  if (type !== "bytea") {
    return texts(rows.map((row) => row[key]?.toString() ?? null));
  }
  return byteas(
    rows.map((row) => {
      const value = row[key];
      return value instanceof Uint8Array ? value : null;
    }),
  );
};

/** Index of each column in a row that has them in this order. */
export const placesOf = <Columns extends Readonly<Record<string, AnyColumn>>>(columns: Columns) =>
  Object.fromEntries(Object.keys(columns).map((key, place) => [key, place])) as {
    readonly [Key in keyof Columns]: number;
  };
