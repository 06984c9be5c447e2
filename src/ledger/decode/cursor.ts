import { Buffer } from "node:buffer";
import { base58 } from "../../values/base58.ts";
import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The bytes of a checkpoint are truncated, altered, too long, of an unknown variant or contradict a
 * digest. Nothing was used.
 *
 * A reader fetches the checkpoint again; if the same bytes come from another source too, this
 * decoder needs an update.
 */
export class CheckpointDecodeError extends Error {
  override readonly name = "CheckpointDecodeError";
  readonly remedy: Remedy = "retry";
  /** Number requested; null when unknown. */
  readonly sequence: bigint | null;
  /** Offset in `RawCheckpoint.bytes` (without the encoding byte of a `.chk` file). */
  readonly offset: number;
  /** The fault, without sequence and offset. */
  readonly what: string;

  constructor(sequence: bigint | null, offset: number, what: string) {
    super(`checkpoint ${sequence ?? "of unknown number"}, byte ${offset}: ${what}`);
    this.sequence = sequence;
    this.offset = offset;
    this.what = what;
  }
}

/** BCS limit for lengths: 2^31 - 1. */
const MAX_LENGTH = 0x7fff_ffff;

/**
 * Reads BCS from front to back. Checks every length against the remaining bytes; failures are
 * `CheckpointDecodeError` with the offset.
 *
 * One cursor reads a whole checkpoint, BCS parts of a protobuf message in place (`part`), so
 * offsets refer to the raw bytes.
 */
export class Cursor {
  readonly bytes: Buffer;
  /** Number requested; null when unknown. */
  readonly sequence: bigint | null;
  /** Offset of the next byte. */
  at = 0;
  /** Offset after the last readable byte. */
  end: number;
  /** Same bytes as a Uint8Array, whose slices are copies. */
  readonly #plain: Uint8Array;
  readonly #view: DataView;
  #lastDigest: { readonly at: number; readonly text: string } | null = null;

  constructor(bytes: Uint8Array, sequence: bigint | null) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.sequence = sequence;
    this.end = bytes.byteLength;
    this.#plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** @throws CheckpointDecodeError always */
  fail(what: string, at: number = this.at): never {
    throw new CheckpointDecodeError(this.sequence, at, what);
  }

  /** Skips `count` bytes and returns their offset. */
  skip(count: number): number {
    const start = this.at;
    if (count > this.end - start) this.#truncated(count);
    this.at = start + count;
    return start;
  }

  u8(): number {
    return this.#view.getUint8(this.skip(1));
  }

  u16(): number {
    return this.#view.getUint16(this.skip(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.skip(4), true);
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.skip(8), true);
  }

  u32At(offset: number): number {
    return this.#view.getUint32(offset, true);
  }

  u64At(offset: number): bigint {
    return this.#view.getBigUint64(offset, true);
  }

  /** @throws CheckpointDecodeError when the byte is neither 0 nor 1 */
  bool(): boolean {
    const byte = this.u8();
    if (byte > 1) this.fail(`a boolean is 0 or 1, found ${byte}`, this.at - 1);
    return byte === 1;
  }

  /** True when the option has a value. */
  option(): boolean {
    const byte = this.u8();
    if (byte > 1) this.fail(`an option's tag is 0 or 1, found ${byte}`, this.at - 1);
    return byte === 1;
  }

  /** ULEB128 as in BCS: at most 32 bits, in the fewest bytes. */
  uleb(): number {
    const start = this.at;
    const first = this.u8();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let scale = 2 ** 7; scale <= 2 ** 28; scale *= 2 ** 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0) this.fail("a ULEB128 number has more bytes than it needs", start);
        if (value > 0xffff_ffff) this.fail("a ULEB128 number exceeds 32 bits", start);
        return value;
      }
    }
    return this.fail("a ULEB128 number exceeds 32 bits", start);
  }

  /**
   * A vector's length. Each element takes at least a byte, so too large a length is refused here.
   */
  length(): number {
    const start = this.at;
    const length = this.uleb();
    if (length > MAX_LENGTH || length > this.end - this.at) {
      this.fail(`a length of ${length} exceeds the ${this.end - this.at} bytes left`, start);
    }
    return length;
  }

  /** Skips a length and that many bytes; returns the offset of the first. */
  skipBytes(): number {
    return this.skip(this.length());
  }

  /** Index of an enum's variant. */
  variant(of: string, count: number): number {
    const start = this.at;
    const index = this.uleb();
    if (index >= count) this.fail(`unknown variant ${index} of ${of}`, start);
    return index;
  }

  /** Skips a digest (length, always 32, then bytes); returns the offset of the bytes. */
  digest(): number {
    const length = this.u8();
    if (length !== 32) this.fail(`a digest has 32 bytes, found length ${length}`, this.at - 1);
    return this.skip(32);
  }

  /**
   * Base58 of the digest at an offset; caches the last one, as a transaction repeats its digest.
   */
  digestText(offset: number): string {
    const last = this.#lastDigest;
    if (last !== null && this.same32(last.at, offset)) return last.text;
    const text = base58(this.bytes, offset);
    this.#lastDigest = { at: offset, text };
    return text;
  }

  /** `0x` and 64 hex digits of 32 bytes. */
  address(offset: number): string {
    return `0x${this.bytes.toString("hex", offset, offset + 32)}`;
  }

  /** Whether the 32 bytes at two offsets are equal. */
  same32(left: number, right: number): boolean {
    for (let i = 0; i < 32; i += 4) {
      if (this.u32At(left + i) !== this.u32At(right + i)) return false;
    }
    return true;
  }

  /** Whether the 8 bytes at two offsets are equal. */
  same8(left: number, right: number): boolean {
    return this.u32At(left) === this.u32At(right) && this.u32At(left + 4) === this.u32At(right + 4);
  }

  /** Copies bytes, `end` excluded, so that results do not keep the checkpoint in memory. */
  copy(start: number, end: number): Uint8Array {
    return this.#plain.slice(start, end);
  }

  /** Reads the bytes `start` to `end` as one value. */
  part<T>(what: () => string, start: number, end: number, read: (cursor: Cursor) => T): T {
    const outerEnd = this.end;
    const outerAt = this.at;
    this.at = start;
    this.end = end;
    const value = read(this);
    if (this.at !== this.end) this.finish(what());
    this.at = outerAt;
    this.end = outerEnd;
    return value;
  }

  /** @throws CheckpointDecodeError when bytes are left over */
  finish(what: string): void {
    if (this.at !== this.end) this.fail(`${this.end - this.at} bytes left over after ${what}`);
  }

  #truncated(count: number): never {
    return this.fail(`truncated: ${count} bytes needed, ${this.end - this.at} left`);
  }
}
