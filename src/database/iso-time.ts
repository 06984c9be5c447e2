/** A timestamp column as ISO 8601 in UTC, as `Date` prints it; null stays null. */
import type { Sql } from "./session.ts";

export const isoTime = (sql: Sql, column: string) =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Position of a row in a list by time. */
export type TimedCursor = {
  /** ISO 8601 in UTC, with microseconds. */
  readonly at: string;
  readonly sequence: bigint;
};

/** `at` of a `TimedCursor`. */
export const isoMicros = (sql: Sql, column: string) =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
