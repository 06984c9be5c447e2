/** Reusable buffers: a checkpoint needs dozens of writers, few at a time. */
const spare: Buffer[] = [];
const MOST_SPARE = 16;
const USUAL_SIZE = 1024;
const LARGEST_SPARE = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Writes BCS: little-endian integers, ULEB128 lengths.
 *
 * Hand-written because every checkpoint is encoded to be hashed, and `@mysten/bcs` takes some 15
 * times as long (measured on a token's contents); tests decode everything with `@mysten/sui/bcs`.
 */
export class ByteWriter {
  #buffer = spare.pop() ?? Buffer.allocUnsafeSlow(USUAL_SIZE);
  #length = 0;

  u8(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length] = value;
    this.#length += 1;
    return this;
  }

  u16(value: number): this {
    this.#reserve(2);
    this.#length = this.#buffer.writeUInt16LE(value, this.#length);
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
    return this;
  }

  u64(value: bigint): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigUInt64LE(value, this.#length);
    return this;
  }

  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  /** Length or enum tag: ULEB128. */
  uleb(value: number): this {
    this.#reserve(5);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length] = (rest & 0x7f) | 0x80;
      this.#length += 1;
      rest >>>= 7;
    }
    this.#buffer[this.#length] = rest;
    this.#length += 1;
    return this;
  }

  /** Bytes without a length. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** `vector<u8>`, also digests: length, then bytes. */
  bytes(bytes: Uint8Array): this {
    return this.uleb(bytes.length).raw(bytes);
  }

  /** ASCII text with its length. */
  string(text: string): this {
    this.uleb(text.length);
    this.#reserve(text.length);
    this.#length += this.#buffer.write(text, this.#length, "latin1");
    return this;
  }

  /** Address or object id: `0x` and 64 hex digits. */
  address(text: string): this {
    this.#reserve(32);
    this.#length += this.#buffer.write(text.slice(2), this.#length, "hex");
    return this;
  }

  /** Length, then each item. */
  list<Item>(items: readonly Item[], write: (writer: ByteWriter, item: Item) => void): this {
    this.uleb(items.length);
    for (const item of items) write(this, item);
    return this;
  }

  /** `Option`: 0, or 1 and the value. */
  option<Item>(item: Item | null, write: (writer: ByteWriter, item: Item) => void): this {
    if (item === null) return this.u8(0);
    this.u8(1);
    write(this, item);
    return this;
  }

  /** Returns what was written. The writer must not be used again. */
  done(): Uint8Array {
    const bytes = new Uint8Array(this.#buffer.subarray(0, this.#length));
    if (this.#buffer.length <= LARGEST_SPARE && spare.length < MOST_SPARE) spare.push(this.#buffer);
    this.#buffer = NOTHING;
    this.#length = 0;
    return bytes;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
