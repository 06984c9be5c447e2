/**
 * The protobuf wire format, as far as needed to find parts: fields in any order, unknown ones
 * skipped. Hand-written because the generated decoder copies the whole message first.
 */

import type { Cursor } from "./cursor.ts";
import type { Span } from "./transaction.ts";

const VARINT = 0;
const I64 = 1;
const LEN = 2;
const I32 = 5;

/** Iterates over a message's fields. Keeps only the current one: most are skipped. */
export class Fields {
  number = 0;
  /** Whether it has a length: a message, string or bytes. */
  delimited = false;
  /** Its bytes, `end` excluded; without the length. */
  start = 0;
  end = 0;
  readonly #cursor: Cursor;
  /** The cursor's former position, restored at the end. */
  readonly #outerAt: number;
  readonly #outerEnd: number;

  constructor(cursor: Cursor, message: Span) {
    this.#cursor = cursor;
    this.#outerAt = cursor.at;
    this.#outerEnd = cursor.end;
    cursor.at = message.start;
    cursor.end = message.end;
  }

  /**
   * Reads the next field; false at the end. Call until then.
   * @throws CheckpointDecodeError on malformed tags, excessive lengths, groups
   */
  next(): boolean {
    const cursor = this.#cursor;
    if (cursor.at >= cursor.end) {
      cursor.at = this.#outerAt;
      cursor.end = this.#outerEnd;
      return false;
    }
    const at = cursor.at;
    const tag = readVarint(cursor);
    if (tag < 8 || tag > 0xffff_ffff) cursor.fail(`field number ${Math.floor(tag / 8)}`, at);
    this.number = tag >>> 3;
    const type = tag & 7;
    this.delimited = type === LEN;
    this.start = cursor.at;
    if (type === LEN) {
      const length = readVarint(cursor);
      if (length > cursor.end - cursor.at) {
        cursor.fail(
          `a length of ${length} exceeds the ${cursor.end - cursor.at} bytes left`,
          this.start,
        );
      }
      this.start = cursor.skip(length);
    } else if (type === VARINT) readVarint(cursor);
    else if (type === I64) cursor.skip(8);
    else if (type === I32) cursor.skip(4);
    else cursor.fail(`unknown wire type ${type}`, at);
    this.end = cursor.at;
    return true;
  }

  /**
   * The current field, as the only one of its number.
   * @param before an earlier one
   * @param path name for errors
   * @throws CheckpointDecodeError when repeated or without length
   */
  only(before: Span | null, path: () => string): Span {
    if (!this.delimited) this.#cursor.fail(`${path()} is of the wrong wire type`, this.start);
    if (before !== null) this.#cursor.fail(`${path()} appears twice`, this.start);
    return { start: this.start, end: this.end };
  }
}

/**
 * The only part with this field number; null without one.
 * @param path name for errors
 */
export const findPart = (
  cursor: Cursor,
  message: Span,
  number: number,
  path: () => string,
): Span | null => {
  let found: Span | null = null;
  const fields = new Fields(cursor, message);
  while (fields.next()) {
    if (fields.number === number) found = fields.only(found, path);
  }
  return found;
};

/** A varint field as u64. */
export const varintAt = (cursor: Cursor, { start, end }: Span): bigint => {
  let value = 0n;
  for (let at = end - 1; at >= start; at--) {
    value = (value << 7n) | BigInt((cursor.bytes[at] ?? 0) & 0x7f);
  }
  return BigInt.asUintN(64, value);
};

/** At most ten bytes; approximate beyond 2^53, which lengths and tags never reach. */
const readVarint = (cursor: Cursor): number => {
  const start = cursor.at;
  // Nearly all tags and lengths have one or two bytes.
  const { bytes, end } = cursor;
  const first = bytes[start] ?? 0x80;
  if (first < 0x80 && start < end) {
    cursor.at = start + 1;
    return first;
  }
  const second = bytes[start + 1] ?? 0x80;
  if (second < 0x80 && start + 1 < end) {
    cursor.at = start + 2;
    return (first & 0x7f) | (second << 7);
  }
  let value = 0;
  for (let scale = 1; scale <= 2 ** 63; scale *= 2 ** 7) {
    const byte = cursor.u8();
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
  }
  return cursor.fail("a varint has more than ten bytes", start);
};
