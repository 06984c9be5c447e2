/**
 * What a batch of few rows writes, as parts of the statement that moves a mark: a pipeline's watermark or
 * the log's high-water mark. At the head of the chain a batch is then one statement: one round trip and
 * one commit.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "./session.ts";
import { type Cell, columnNames, givenRows, type Row, type RowSource } from "./table-rows.ts";

/** Parts of one statement. */
export type Writing = {
  /**
   * Common table expressions that write, in order: `name as (insert into … select … from mark, …)`. Each
   * hangs on `mark`, which holds one row when the watermark moved and none when it did not: so
   * everything is written, or nothing.
   */
  readonly parts: readonly string[];
  /** An expression over the parts that raises an error where something must not be. */
  readonly check?: string;
  /** What an error of the statement means, where that is known; else the error itself. */
  readonly explain?: (error: unknown) => unknown;
  /** What the parts' parameters are given, as text. */
  readonly parameters: readonly string[];
};

/** Makes a writing whose parameters are numbered from `first` on; undefined: too much for one statement. */
export type AtOnce = (first: number) => Writing | undefined;

/** Of a batch without rows. */
export const NOTHING: Writing = { parts: [], parameters: [] };

/** Several as one, in this order; one of them at most has a check. Undefined when one is too much. */
export const together =
  (all: readonly AtOnce[]): AtOnce =>
  (first) => {
    const parts: string[] = [];
    const parameters: string[] = [];
    let rest: Pick<Writing, "check" | "explain"> = {};
    for (const one of all) {
      const writing = one(first + parameters.length);
      if (writing === undefined) return undefined;
      const { check, explain } = writing;
      parts.push(...writing.parts);
      parameters.push(...writing.parameters);
      if (check !== undefined) rest = { check, ...(explain && { explain }) };
    }
    return { parts, parameters, ...rest };
  };

/** Up to here parameters are quicker than COPY, which takes two round trips more. */
export const AT_ONCE_UP_TO_ROWS = 200;

/**
 * Runs a writing together with what it hangs on: `mark` is a statement that yields one row when the
 * rest is to happen, and `given` its parameters. Sent at once. Returns whether it happened.
 */
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

/** Runs a writing that hangs on nothing: inside a transaction. */
export const writeNow = async (sql: Sql, writing: Writing): Promise<void> => {
  await writeAfter(sql, { mark: "select", given: [] }, writing);
};

/**
 * Appends few rows to a table. `instead` has expressions to select for columns, by name, rather than what
 * `given` (a row) has there. A row whose key is there already is an error.
 */
export const appendAtOnce =
  <Complete extends Readonly<Record<string, Cell>>>(
    table: PgTable & { readonly $inferSelect: Complete },
    rows: readonly Complete[],
    instead: Readonly<Record<string, string>> = {},
  ): AtOnce =>
  (first) => {
    if (rows.length === 0) return NOTHING;
    if (rows.length > AT_ONCE_UP_TO_ROWS) return undefined;
    const { part, parameters } = appendingPart(table, rows, first, instead);
    return { parts: [part], parameters };
  };

/** A part that appends rows, however many, with parameters that are numbered from `first` on. */
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

/**
 * Rows with the columns of `shape` as a query whose parameters are numbered from `first` on; it yields
 * none where `mark` has none.
 */
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
