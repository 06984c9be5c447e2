/**
 * What a batch of few rows writes, as parts of the statement that moves its pipeline's watermark. At the
 * head of the chain a batch is then one statement: one round trip and one commit.
 */
import type { Sql } from "../database/connect.ts";

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
