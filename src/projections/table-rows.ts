/**
 * Rows on their way into the database, by the columns that drizzle declares: a table's declaration is
 * the only list of its columns.
 */
import { type AnyColumn, getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { type CopyRow, copyInto } from "../database/copy.ts";

/** What a column holds. */
type Cell = string | bigint | number | boolean | null;

/** A row by the keys of its table's declaration; what is left out is null. */
type Row = Readonly<Record<string, Cell | undefined>>;

/** Up to here an insert is faster than COPY, which takes a round trip more. */
const INSERT_UP_TO_ROWS = 32;

/**
 * Appends rows to a table inside the transaction that `sql` belongs to. A row whose key is there already
 * is an error: nothing is appended twice, the watermark sees to that.
 */
export const appendRows = async <Complete extends Readonly<Record<string, Cell>>>(
  sql: Sql,
  table: PgTable & { readonly $inferSelect: Complete },
  rows: readonly Complete[],
): Promise<void> => {
  const name = getTableName(table);
  if (rows.length > INSERT_UP_TO_ROWS) return copyRows(sql, name, table, rows);
  const { source, parameters } = rowsAsParameters(table, rows);
  const names = Object.values(getTableColumns(table)).map((column) => column.name);
  const text = `insert into ${name} (${names.join(", ")}) select * from ${source}`;
  await sql.unsafe(text, [...parameters], { prepare: true });
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

/**
 * Rows with the columns of `shape` as something to select from, and its parameters (`$1` and on): for a
 * handful of rows one round trip less than COPY.
 */
export const rowsAsParameters = (
  shape: PgTable,
  rows: readonly Row[],
): { readonly source: string; readonly parameters: readonly string[] } => {
  const columns = Object.entries(getTableColumns(shape));
  const arrays = columns.map(([, column], index) => `$${index + 1}::${elementType(column)}[]`);
  const names = columns.map(([, column]) => column.name);
  return {
    source: `unnest(${arrays.join(", ")}) as given (${names.join(", ")})`,
    parameters: columns.map(([key]) => texts(rows.map((row) => row[key]?.toString() ?? null))),
  };
};

/** The collation belongs to the column, not to the type. */
const elementType = (column: AnyColumn) => column.getSQLType().replace(/ collate .*/, "");
