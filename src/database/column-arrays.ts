/**
 * Columns of rows as array literals, for `insert … select * from unnest(…)` and `= any(…)`:
 *
 * sql`insert into t (a, b) select * from unnest(${bigints(as)}::int8[], ${texts(bs)}::text[])`
 *
 * postgres.js accepts arrays but infers their type from the first value: bigints arrive as one
 * int8, numeric[] is not converted. A literal works for every type, and the statement keeps its
 * text and plan for any number of rows.
 */

/** int2, int4, int8 or numeric, by the cast beside it. */
export const bigints = (values: readonly (bigint | number | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : value.toString())).join(",")}}`;

export const booleans = (values: readonly (boolean | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : value ? "t" : "f")).join(",")}}`;

/** text, or any type by its text form. */
export const texts = (values: readonly (string | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : quoted(value))).join(",")}}`;

export const byteas = (values: readonly (Uint8Array | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : `"\\\\x${hex(value)}"`)).join(",")}}`;

const quoted = (value: string) =>
  // Testing is cheaper than replacing: almost no text needs escaping.
  /["\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`;

const hex = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
