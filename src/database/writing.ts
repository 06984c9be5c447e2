/**
 * Writes a small batch in the statement that moves a mark (a pipeline's watermark or the log's
 * high-water mark): one round trip and one commit.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "./session.ts";
import { columnNames, givenRows, type Row, type RowSource } from "./table-rows.ts";

export type Writing = {
  /**
   * Common table expressions that write, in order: `name as (insert into … select … from mark, …)`.
   * `mark` has one row when the mark moved, else none: all is written or nothing.
   */
  readonly parts: readonly string[];
  /** An expression over the parts that raises an error on a violation. */
  readonly check?: string;
  readonly explain?: (error: unknown) => unknown;
  /** Parameters of the parts, as text. */
  readonly parameters: readonly string[];
};

/** Creates a writing with parameters numbered from `first`. */
export type Numbered = (first: number) => Writing;

export const NOTHING: Writing = { parts: [], parameters: [] };

/** Combines writings in order; at most one has a check. */
export const together =
  (all: readonly Numbered[]): Numbered =>
  (first) => {
    const parts: string[] = [];
    const parameters: string[] = [];
    let rest: Pick<Writing, "check" | "explain"> = {};
    for (const one of all) {
      const { check, explain, ...writing } = one(first + parameters.length);
      parts.push(...writing.parts);
      parameters.push(...writing.parameters);
      if (check !== undefined) rest = { check, ...(explain && { explain }) };
    }
    return { parts, parameters, ...rest };
  };

/** Runs a writing if `mark`, a statement, yields one row; returns whether it did. */
export const writeAfter = async (
  sql: Sql,
  { mark, given }: { readonly mark: string; readonly given: readonly (string | bigint)[] },
  { parts, check = "null", explain = (error) => error, parameters }: Writing,
): Promise<boolean> => {
  const text = `with ${[`mark as (${mark})`, ...parts].join(",\n")} select ${check} from mark`;
  const query = sql.unsafe(text, [...given.map(String), ...parameters], { prepare: true });
  const { count } = await query.execute().catch((error: unknown) => {
    throw explain(error);
  });
  return count === 1;
};

/** Runs a writing unconditionally, inside a transaction. */
export const writeNow = async (sql: Sql, writing: Writing): Promise<void> => {
  await writeAfter(sql, { mark: "select", given: [] }, writing);
};

/**
 * Appends any number of rows; parameters numbered from `first`. `instead` replaces columns of `given` by
 * expressions. Duplicate keys are errors.
 */
export const appendingPart = (
  table: PgTable,
  rows: readonly Row[],
  first: number,
  instead: Readonly<Record<string, string>> = {},
): { readonly part: string; readonly parameters: readonly string[] } => {
  const name = getTableName(table);
  const { text, parameters } = rowsAfterMark(table, rows, first, instead);
  const part = `appended_${name} as (insert into ${name} (${columnNames(table).join(", ")}) ${text})`;
  return { part, parameters };
};

/** Selects rows after `mark`, with parameters numbered from `first`; none when `mark` has none. */
export const rowsAfterMark = (
  shape: PgTable,
  rows: readonly Row[],
  first: number,
  instead: Readonly<Record<string, string>> = {},
): RowSource => {
  const { text, parameters } = givenRows(shape, rows, first);
  const selected = columnNames(shape).map((name) => instead[name] ?? `given.${name}`);
  return { text: `select ${selected.join(", ")} from mark, ${text}`, parameters };
};
