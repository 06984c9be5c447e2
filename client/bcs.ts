/** Reads BCS and the protobuf around it, as far as excerpts of checkpoints need it. */

/** The bytes are none of an excerpt. */
export class ExcerptError extends Error {
  override readonly name = "ExcerptError";
}

export const refuse = (what: string): never => {
  throw new ExcerptError(what);
};

/** `bytes` from `at` to `end`, excluded. */
export class Reader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = at;
    this.end = end;
  }

  /** Skips bytes and returns their offset. */
  skip(count: number): number {
    const { at } = this;
    if (count > this.end - at) refuse("ends too early");
    this.at = at + count;
    return at;
  }

  u8(): number {
    return this.#view.getUint8(this.skip(1));
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.skip(8), true);
  }

  /** In the fewest bytes, at most 32 bits. */
  uleb(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) {
        return value >= 2 ** 32 || (byte === 0 && scale > 1)
          ? refuse("has a length of no form")
          : value;
      }
    }
    return refuse("has a length of no form");
  }

  /** A count of elements that take at least a byte each. */
  length(): number {
    const length = this.uleb();
    return length > this.end - this.at ? refuse("ends too early") : length;
  }

  flag(): boolean {
    const byte = this.u8();
    return byte > 1 ? refuse("has an option of no form") : byte === 1;
  }

  /** The 32 bytes of a digest. */
  digest(): Uint8Array {
    if (this.u8() !== 32) refuse("has a digest of another length than 32");
    return this.taken(32);
  }

  taken(count: number): Uint8Array {
    const start = this.skip(count);
    return this.bytes.subarray(start, this.at);
  }

  /** A length, and that many bytes. */
  data(): Uint8Array {
    return this.taken(this.length());
  }

  address(): string {
    let hex = "0x";
    for (const byte of this.taken(32)) hex += HEX[byte];
    return hex;
  }

  word(): string {
    const word = LATIN.decode(this.data());
    return WORD.test(word) ? word : refuse("has an identifier of no form");
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const LATIN = new TextDecoder("latin1");
const WORD = /^[A-Za-z_]\w*$/;

/** Skips one value. */
export type Layout = (reader: Reader) => void;

export const nothing: Layout = () => undefined;
export const fixed =
  (size: number): Layout =>
  (reader) =>
    void reader.skip(size);
export const [u8, u16, u32, u64, address] = [1, 2, 4, 8, 32].map(fixed) as [
  Layout,
  Layout,
  Layout,
  Layout,
  Layout,
];
export const data: Layout = (reader) => void reader.data();
export const digest: Layout = (reader) => void reader.digest();
export const all =
  (...layouts: readonly Layout[]): Layout =>
  (reader) => {
    for (const layout of layouts) layout(reader);
  };
export const many =
  (layout: Layout): Layout =>
  (reader) => {
    for (let left = reader.length(); left > 0; left--) layout(reader);
  };
export const maybe =
  (layout: Layout): Layout =>
  (reader) => {
    if (reader.flag()) layout(reader);
  };
export const variants =
  (...layouts: readonly Layout[]): Layout =>
  (reader) =>
    (layouts[reader.uleb()] ?? refuse("has an unknown variant"))(reader);

/** Type tags by variant; null for those with more (6 vector, 7 struct). */
export const PRIMITIVES = [
  "bool",
  "u8",
  "u64",
  "u128",
  "address",
  "signer",
  null,
  null,
  "u16",
  "u32",
  "u256",
] as const;
const DEEPEST = 32;

/** A type in canonical form. */
export const typeTag = (reader: Reader, depth = 0): string => {
  if (depth > DEEPEST) refuse("has a type that is nested too deep");
  const tag = reader.uleb();
  const primitive = PRIMITIVES[tag];
  if (primitive === undefined) return refuse("has an unknown type");
  if (primitive !== null) return primitive;
  return tag === 6 ? `vector<${typeTag(reader, depth + 1)}>` : structTag(reader, depth + 1);
};

export const structTag = (reader: Reader, depth = 0): string => {
  const head = `${reader.address()}::${reader.word()}::${reader.word()}`;
  const parameters: string[] = [];
  for (let left = reader.length(); left > 0; left--) parameters.push(typeTag(reader, depth + 1));
  return parameters.length === 0 ? head : `${head}<${parameters.join(",")}>`;
};

/** Fields of a protobuf message: a number, or bytes. Unknown kinds are refused. */
export function* fieldsOf(
  reader: Reader,
): Generator<{ readonly field: number; readonly number: number; readonly inner: Reader }> {
  while (reader.at < reader.end) {
    const key = varint(reader);
    const field = Math.floor(key / 8);
    const number = varint(reader);
    if (key % 8 === 0) yield { field, number, inner: new Reader(reader.bytes, 0, 0) };
    else if (key % 8 === 2) {
      const start = reader.skip(number);
      yield { field, number: 0, inner: new Reader(reader.bytes, start, reader.at) };
    } else refuse("has a field of another kind");
  }
}

/** Below 2^53. */
const varint = (reader: Reader): number => {
  let value = 0;
  for (let scale = 1; scale < 2 ** 53; scale *= 128) {
    const byte = reader.u8();
    value += (byte & 127) * scale;
    if (byte < 128) return Number.isSafeInteger(value) ? value : refuse("has a number of no form");
  }
  return refuse("has a number of no form");
};
