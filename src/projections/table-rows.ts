/**
 * Rows on their way into the database, by the columns that drizzle declares: a table's declaration is
 * the only list of its columns.
 */
import { type AnyColumn, getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { type CopyRow, copyInto } from "../database/copy.ts";
import { AT_ONCE_UP_TO_ROWS, type AtOnce } from "./writing.ts";

/** What a column holds. */
export type Cell = string | bigint | number | boolean | null;

/** A row by the keys of its table's declaration; what is left out is null. */
type Row = Readonly<Record<string, Cell | undefined>>;

/**
 * Appends rows to a table inside the transaction that `sql` belongs to. A row whose key is there already
 * is an error: nothing is appended twice, the watermark sees to that.
 */
export const appendRows = <Complete extends Readonly<Record<string, Cell>>>(
  sql: Sql,
  table: PgTable & { readonly $inferSelect: Complete },
  rows: readonly Complete[],
): Promise<void> => copyRows(sql, getTableName(table), table, rows);

/**
 * The same for few rows, as parts of the statement that moves the watermark. `instead` has expressions
 * to select for columns, by name, rather than what `given` (a row) has there.
 */
export const appendAtOnce =
  <Complete extends Readonly<Record<string, Cell>>>(
    table: PgTable & { readonly $inferSelect: Complete },
    rows: readonly Complete[],
    instead: Readonly<Record<string, string>> = {},
  ): AtOnce =>
  (first) => {
    if (rows.length > AT_ONCE_UP_TO_ROWS) return undefined;
    const name = getTableName(table);
    const names = Object.values(getTableColumns(table)).map((column) => column.name);
    const { text, parameters } = rowsAfterMark(table, rows, first, instead);
    return {
      parts: [`appended_${name} as (insert into ${name} (${names.join(", ")}) ${text})`],
      parameters,
    };
  };

/** Copies rows into `target`, a table with the columns of `shape`. */
export const copyRows = (
  sql: Sql,
  target: string,
  shape: PgTable,
  rows: readonly Row[],
): Promise<void> => {
  const columns = Object.entries(getTableColumns(shape));
  const names = columns.map(([, column]) => column.name);
  return copyInto(sql, target, names, rows, (row, fields) => {
    for (const [key, column] of columns) writeField(fields, column, row[key] ?? null);
  });
};

const writeField = (fields: CopyRow, column: AnyColumn, value: Cell): void => {
  if (value === null || typeof value === "string") fields.text(value);
  else if (typeof value === "boolean") fields.boolean(value);
  else if (typeof value === "number") fields.integer(value);
  else if (column.getSQLType() === "bigint") fields.bigint(value);
  else fields.numeric(value);
};

/** A query that yields rows, and its parameters. */
export type RowSource = { readonly text: string; readonly parameters: readonly string[] };

/**
 * Rows with the columns of `shape` as a query whose parameters are numbered from `first` on; it yields
 * none where `mark` has none (see writing.ts).
 */
export const rowsAfterMark = (
  shape: PgTable,
  rows: readonly Row[],
  first: number,
  instead: Readonly<Record<string, string>> = {},
): RowSource => {
  const columns = Object.entries(getTableColumns(shape));
  const arrays = columns.map(([, column], n) => `$${first + n}::${elementType(column)}[]`);
  const names = columns.map(([, column]) => column.name);
  const selected = names.map((name) => instead[name] ?? `given.${name}`);
  return {
    text: `select ${selected.join(", ")} from mark, unnest(${arrays.join(", ")}) as given (${names.join(", ")})`,
    parameters: columns.map(([key]) => texts(rows.map((row) => row[key]?.toString() ?? null))),
  };
};

/** The collation belongs to the column, not to the type. */
const elementType = (column: AnyColumn) => column.getSQLType().replace(/ collate .*/, "");
