/**
 * What the layouts of the contract are made of: BCS types of `@mysten/sui/bcs`, with amounts as
 * `bigint` and addresses canonical.
 */

import { BcsReader } from "@mysten/bcs";
import { BcsType, bcs } from "@mysten/sui/bcs";
import type { Remedy } from "../../waiting/remedy.ts";

/**
 * Contents do not have the layout of their type: the package configured is not the one these layouts
 * describe. Correct the layouts in this folder, or the packages configured.
 */
export class ContractLayoutError extends Error {
  override readonly name = "ContractLayoutError";
  readonly remedy: Remedy = "stop";

  constructor(type: string, contents: Uint8Array, what: string, options?: ErrorOptions) {
    super(`${contents.byteLength} bytes are not the layout of ${type}: ${what}`, options);
  }
}

const ADDRESS_BYTES = 32;
const U64_BYTES = 8;

/** An address or object id as `0x` and 64 lower-case hex digits. */
export const address = new BcsType<string>({
  name: "address",
  read: (reader) => `0x${Buffer.from(reader.readBytes(ADDRESS_BYTES)).toString("hex")}`,
  write: (value, writer) => {
    for (const byte of Buffer.from(value.slice(2), "hex")) writer.write8(byte);
  },
  serializedSize: () => ADDRESS_BYTES,
});

/** An unsigned 64-bit number, exact. */
export const u64 = new BcsType<bigint>({
  name: "u64",
  read: (reader) => {
    const bytes = reader.readBytes(U64_BYTES);
    return new DataView(bytes.buffer, bytes.byteOffset, U64_BYTES).getBigUint64(0, true);
  },
  write: (value, writer) => {
    writer.write64(value);
  },
  serializedSize: () => U64_BYTES,
});

/** A boolean; a byte other than 0 and 1 is none. */
export const bool = bcs.u8().transform({
  name: "bool",
  input: (value: boolean) => (value ? 1 : 0),
  output: (byte) => {
    if (byte > 1) throw new Error(`a boolean is 0 or 1, found ${byte}`);
    return byte === 1;
  },
});

/** `Balance<T>` and `Supply<T>`: one u64. */
export const amount = u64;

/** A `BcsType`, as far as decoding needs it. */
type Readable<T> = { readonly read: (reader: BcsReader) => T };

/** `BcsReader` keeps to itself how far it has come; every read of it passes here. */
class CountingReader extends BcsReader {
  position = 0;

  override shift(bytes: number): this {
    this.position += bytes;
    return super.shift(bytes);
  }
}

/** Reads the contents of one type. @throws ContractLayoutError (stop) */
export type Decode<T> = (contents: Uint8Array) => T;

/**
 * Makes the decoder of a type.
 * @param type `module::Name`, for errors
 * @param rest whether bytes after the last field are an error, or fields that are not read
 */
export const decoder =
  <T>(type: string, layout: Readable<T>, rest: "nothing" | "unread"): Decode<T> =>
  (contents) => {
    const reader = new CountingReader(contents);
    const value = readWith(type, layout, contents, reader);
    const left = contents.byteLength - reader.position;
    // Below zero the reader went past the end, into whatever memory lies behind the contents.
    if (left < 0) throw new ContractLayoutError(type, contents, `${-left} bytes are missing`);
    if (left > 0 && rest === "nothing") {
      throw new ContractLayoutError(type, contents, `${left} bytes are left over`);
    }
    return value;
  };

const readWith = <T>(
  type: string,
  layout: Readable<T>,
  contents: Uint8Array,
  reader: BcsReader,
): T => {
  try {
    return layout.read(reader);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new ContractLayoutError(type, contents, what, { cause });
  }
};
