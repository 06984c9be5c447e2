/**
 * Layouts of what is stepped over: a checkpoint's parts that this system does not use are still
 * walked byte by byte, because BCS has no other way to the end and because an unknown variant in them
 * means that the rest is not understood either.
 *
 * A layout reads like the Rust type it mirrors: `record` for a struct or tuple, `oneOf` for an enum
 * in the order of its variants, `vector`, `optional`.
 */

import type { Cursor } from "./cursor.ts";

/** Steps a cursor over one value. */
export type Layout = (cursor: Cursor) => void;

/** A value of always `size` bytes. */
export const fixed =
  (size: number): Layout =>
  (cursor) => {
    cursor.skip(size);
  };

/** Fields one after another. */
export const record =
  (...fields: readonly Layout[]): Layout =>
  (cursor) => {
    for (const field of fields) field(cursor);
  };

/** A variant without fields. */
export const nothing: Layout = () => {};

/** An enum: the layouts of its variants in their order. */
export const oneOf =
  (name: string, variants: readonly Layout[]): Layout =>
  (cursor) => {
    const index = cursor.variant(name, variants.length);
    variants[index]?.(cursor);
  };

export const vector =
  (element: Layout): Layout =>
  (cursor) => {
    for (let left = cursor.length(); left > 0; left--) element(cursor);
  };

export const optional =
  (value: Layout): Layout =>
  (cursor) => {
    if (cursor.option()) value(cursor);
  };

export const bool: Layout = (cursor) => {
  cursor.bool();
};
export const u8 = fixed(1);
export const u16 = fixed(2);
export const u32 = fixed(4);
export const u64 = fixed(8);
/** An address or an object id. */
export const address = fixed(32);
/** A vector of bytes, or a string whose text does not matter here. */
export const bytes: Layout = (cursor) => {
  cursor.skipBytes();
};
export const text = bytes;
export const digest: Layout = (cursor) => {
  cursor.digest();
};
/** Object id, version, digest. */
export const objectRef: Layout = (cursor) => {
  cursor.skip(32 + 8);
  cursor.digest();
};
/** A validator's BLS public key: its length, always 96, then its bytes. */
export const authorityKey: Layout = (cursor) => {
  const length = cursor.u8();
  if (length !== 96) cursor.fail(`a validator's key has 96 bytes, found length ${length}`);
  cursor.skip(96);
};
