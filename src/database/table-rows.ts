/**
 * Rows on their way into the database, by the columns that drizzle declares: a table's declaration is
 * the only list of its columns.
 */
import { type AnyColumn, getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { byteas, texts } from "./column-arrays.ts";
import { type CopyRow, copyInto } from "./copy.ts";
import type { Sql } from "./session.ts";

/** What a column holds. */
export type Cell = string | bigint | number | boolean | Uint8Array | null;

/** A row by the keys of its table's declaration; what is left out is null. */
export type Row = Readonly<Record<string, Cell | undefined>>;

/**
 * Appends rows to a table inside the transaction that `sql` belongs to. A row whose key is there already
 * is an error.
 */
export const appendRows = async <Complete extends Readonly<Record<string, Cell>>>(
  sql: Sql,
  table: PgTable & { readonly $inferSelect: Complete },
  rows: readonly Complete[],
): Promise<void> => {
  if (rows.length > 0) await copyRows(sql, getTableName(table), table, rows);
};

/**
 * Deletes all rows. `truncate` would be quicker, and wrong for snapshots taken before: they would see the
 * tables empty.
 */
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

/** A column: its key in the declaration, its name in Postgres, and its type. */
type Column = { readonly key: string; readonly name: string; readonly type: string };

/** What is known of a table's columns. */
type Columns = { readonly columns: readonly Column[]; readonly names: readonly string[] };

/** Kept for each table: building them again would cost a batch of few rows more than its rows. */
const known = new WeakMap<PgTable, Columns>();

const layoutOf = (table: PgTable): Columns => {
  const before = known.get(table);
  if (before !== undefined) return before;
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => ({
    key,
    name: column.name,
    // The collation belongs to the column, not to the type.
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

/** Names of a table's columns in Postgres, in the order of its declaration. */
export const columnNames = (table: PgTable): readonly string[] => layoutOf(table).names;

/** What is selected of a table so that its rows have the keys of its declaration. */
export const columnsByKey = (table: PgTable): string =>
  columnsOf(table)
    .map(({ key, name }) => (key === name ? key : `${name} as "${key}"`))
    .join(", ");

/** A query, or a part of one, and its parameters. */
export type RowSource = { readonly text: string; readonly parameters: readonly string[] };

/**
 * Rows as a part of a `from` clause, named `given`, with the columns of `shape` by their names in
 * Postgres. One array for each column, as parameters that are numbered from `first` on.
 */
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

/** Where each of these columns stands in a row that has them in this order, by its key. */
export const placesOf = <Columns extends Readonly<Record<string, AnyColumn>>>(columns: Columns) =>
  Object.fromEntries(Object.keys(columns).map((key, place) => [key, place])) as {
    readonly [Key in keyof Columns]: number;
  };
