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

/**
 * A cursor over a message's fields, in their order. It holds only the field read last, because most of a
 * checkpoint's thousands are skipped.
 */
export class Fields {
  /** Number of the field read last. */
  number = 0;
  /** It has a length: a message, a string or bytes. */
  delimited = false;
  /** Offset of its bytes and of the byte after them; for those with a length, what follows it. */
  start = 0;
  end = 0;
  readonly #cursor: Cursor;
  /** Where the cursor stood and ended before; it is left so when the message has been read. */
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
   * Reads the next field; false when there is none. To be called until then.
   * @throws CheckpointDecodeError on malformed tags, lengths beyond the message, groups
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
   * Where the field read last is, as the only one of its number.
   * @param before the one of this number that was read before
   * @param path names it in errors
   * @throws CheckpointDecodeError when it is not the only one, or has no length
   */
  only(before: Span | null, path: () => string): Span {
    if (!this.delimited) this.#cursor.fail(`${path()} is of the wrong wire type`, this.start);
    if (before !== null) this.#cursor.fail(`${path()} appears twice`, this.start);
    return { start: this.start, end: this.end };
  }
}

/**
 * The one part of a message with this field number; null when it has none.
 * @param path names the part in errors
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

/** The number a varint field holds, as u64. */
export const varintAt = (cursor: Cursor, { start, end }: Span): bigint => {
  let value = 0n;
  for (let at = end - 1; at >= start; at--) {
    value = (value << 7n) | BigInt((cursor.bytes[at] ?? 0) & 0x7f);
  }
  return BigInt.asUintN(64, value);
};

/** A varint of at most ten bytes; beyond 2^53 its value is approximate, which no length or tag is. */
const readVarint = (cursor: Cursor): number => {
  const start = cursor.at;
  // Nearly every tag and length has one byte or two.
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
