/**
 * Building blocks of contract layouts: BCS types with amounts as `bigint` and canonical addresses.
 */

import { BcsReader } from "@mysten/bcs";
import { BcsType, bcs } from "@mysten/sui/bcs";
import type { Remedy } from "../../waiting/remedy.ts";

/**
 * Contents do not match their type's layout: another package is configured. Correct the layouts
 * here, or the packages configured.
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

/** `0x` and 64 lower-case hex digits. */
export const address = new BcsType<string>({
  name: "address",
  read: (reader) => `0x${Buffer.from(reader.readBytes(ADDRESS_BYTES)).toString("hex")}`,
  write: (value, writer) => {
    for (const byte of Buffer.from(value.slice(2), "hex")) writer.write8(byte);
  },
  serializedSize: () => ADDRESS_BYTES,
});

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

/** Refuses bytes other than 0 and 1. */
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

type Readable<T> = { readonly read: (reader: BcsReader) => T };

/** `BcsReader` hides its position; all reads pass here. */
class CountingReader extends BcsReader {
  position = 0;

  override shift(bytes: number): this {
    this.position += bytes;
    return super.shift(bytes);
  }
}

/** @throws ContractLayoutError (stop) */
export type Decode<T> = (contents: Uint8Array) => T;

/**
 * Creates a type's decoder.
 * @param type `module::Name`, for errors
 * @param rest whether trailing bytes are an error or unread fields
 */
export const decoder =
  <T>(type: string, layout: Readable<T>, rest: "nothing" | "unread" = "nothing"): Decode<T> =>
  (contents) => {
    const reader = new CountingReader(contents);
    const value = readWith(type, layout, contents, reader);
    const left = contents.byteLength - reader.position;
    // Negative: the reader read past the contents.
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
