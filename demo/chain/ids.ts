import { ByteWriter } from "../wire/byte-writer.ts";
import { hash } from "../wire/digest.ts";
import { typeTag } from "../wire/type-tag.ts";

const system = (hex: string): string => `0x${hex.padStart(64, "0")}`;

/** Standard library, framework, system, its state, clock and coin registry. */
export const STDLIB = system("1");
export const FRAMEWORK = system("2");
export const SYSTEM = system("3");
export const SYSTEM_STATE = system("5");
export const CLOCK = system("6");
export const COIN_REGISTRY = system("c");

/** `0x` and 64 hex digits. */
export const idText = (bytes: Uint8Array): string =>
  `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex")}`;

/** Id of the n-th object (from 0) created by a transaction, packages included. */
export const createdId = (transactionDigest: Uint8Array, n: number): string =>
  idText(
    hash(
      new ByteWriter()
        .u8(0xf1) // hashing intent: regular object id
        .raw(transactionDigest)
        .u64(BigInt(n))
        .done(),
    ),
  );

/** Id of a dynamic field, from its parent, name type and BCS name. */
export const fieldId = (parent: string, nameType: string, name: Uint8Array): string =>
  idText(
    hash(
      new ByteWriter()
        .u8(0xf0) // hashing intent: child object id
        .address(parent)
        .u64(BigInt(name.length))
        .raw(name)
        .raw(typeTag(nameType))
        .done(),
    ),
  );

/** Id of a derived object: a dynamic field with a wrapped key. */
export const derivedId = (parent: string, keyType: string, key: Uint8Array): string =>
  fieldId(parent, `${FRAMEWORK}::derived_object::DerivedObjectKey<${keyType}>`, key);
