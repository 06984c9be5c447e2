/**
 * Columns of rows as array literals, for `insert … select * from unnest(…)` and `= any(…)`:
 *
 *     sql`insert into t (a, b) select * from unnest(${bigints(as)}::int8[], ${texts(bs)}::text[])`
 *
 * postgres.js does take JavaScript arrays, but guesses the type of the whole from its first value:
 * bigints then arrive as one int8, and numeric[] is not converted at all. A literal goes through as it
 * is, for every type, and a statement keeps its text and its plan however many rows there are.
 */

/** int2, int4, int8 or numeric, as the cast beside it says. */
export const bigints = (values: readonly (bigint | number | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : value.toString())).join(",")}}`;

export const booleans = (values: readonly (boolean | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : value ? "t" : "f")).join(",")}}`;

/** text, or any type whose text form is given. */
export const texts = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : quoted(value))).join(",")}}`;

export const byteas = (values: readonly (Uint8Array | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : `"\\\\x${hex(value)}"`)).join(",")}}`;

const quoted = (value: string) =>
  // Almost no text of ours needs escaping; looking first is cheaper than replacing always.
  /["\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`;

const hex = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
