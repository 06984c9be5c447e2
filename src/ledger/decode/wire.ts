/**
 * The protobuf wire format, as far as it takes to find parts of a message: fields in any order,
 * unknown ones stepped over. Hand-written because the generated decoder builds every message and
 * copies every byte string before the first of them is looked at.
 */

import type { Cursor } from "./cursor.ts";
import type { Span } from "./transaction.ts";

const VARINT = 0;
const I64 = 1;
const LEN = 2;
const I32 = 5;

/** One field of a message: its number and, for those with a length, where its bytes are. */
export type Field = Span & {
  readonly number: number;
  /** Has a length: a message, a string or bytes. */
  readonly delimited: boolean;
};

/**
 * Visits the fields of the message in `span` in their order.
 * @throws CheckpointDecodeError on malformed tags, lengths beyond the message, groups
 */
export const visitFields = (cursor: Cursor, span: Span, visit: (field: Field) => void): void => {
  const { at, end } = cursor;
  cursor.at = span.start;
  cursor.end = span.end;
  while (cursor.at < cursor.end) visit(readField(cursor));
  cursor.at = at;
  cursor.end = end;
};

/**
 * The one part of a message with this field number; null when it has none.
 * @param path names the part in errors
 */
export const findPart = (cursor: Cursor, span: Span, number: number, path: string): Span | null => {
  let found: Span | null = null;
  visitFields(cursor, span, (field) => {
    if (field.number !== number) return;
    found = theOnly(cursor, field, found, path);
  });
  return found;
};

/** The field as the only one of its number. @throws CheckpointDecodeError when it is not */
export const theOnly = (cursor: Cursor, field: Field, before: Span | null, path: string): Span => {
  if (!field.delimited) cursor.fail(`${path} is of the wrong wire type`, field.start);
  if (before !== null) cursor.fail(`${path} appears twice`, field.start);
  return field;
};

/** The number a varint field holds, as u64. */
export const varintAt = (cursor: Cursor, { start, end }: Span): bigint => {
  let value = 0n;
  for (let at = end - 1; at >= start; at--) {
    value = (value << 7n) | BigInt((cursor.bytes[at] ?? 0) & 0x7f);
  }
  return BigInt.asUintN(64, value);
};

const readField = (cursor: Cursor): Field => {
  const at = cursor.at;
  const tag = readVarint(cursor);
  const number = Math.floor(tag / 8);
  if (number === 0 || number > 0x1fff_ffff) cursor.fail(`field number ${number}`, at);
  const start = cursor.at;
  switch (tag % 8) {
    case VARINT:
      readVarint(cursor);
      return { number, delimited: false, start, end: cursor.at };
    case I64:
      return { number, delimited: false, start: cursor.skip(8), end: cursor.at };
    case LEN: {
      const length = readVarint(cursor);
      if (length > cursor.end - cursor.at) {
        cursor.fail(
          `a length of ${length} exceeds the ${cursor.end - cursor.at} bytes left`,
          start,
        );
      }
      return { number, delimited: true, start: cursor.skip(length), end: cursor.at };
    }
    case I32:
      return { number, delimited: false, start: cursor.skip(4), end: cursor.at };
    default:
      return cursor.fail(`unknown wire type ${tag % 8}`, at);
  }
};

/** A varint of at most ten bytes; beyond 2^53 its value is approximate, which no length or tag is. */
const readVarint = (cursor: Cursor): number => {
  const start = cursor.at;
  // Nearly every tag and every second length.
  const first = cursor.bytes[start] ?? 0x80;
  if (first < 0x80 && start < cursor.end) {
    cursor.at = start + 1;
    return first;
  }
  let value = 0;
  for (let scale = 1; scale <= 2 ** 63; scale *= 2 ** 7) {
    const byte = cursor.u8();
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
  }
  return cursor.fail("a varint has more than ten bytes", start);
};
