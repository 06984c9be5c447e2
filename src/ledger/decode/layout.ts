/**
 * Layouts of skipped parts. BCS can only be skipped by walking it, and an unknown variant means
 * that the rest is not understood.
 *
 * Layouts mirror Rust types: `record` for structs and tuples, `oneOf` for enums, `vector`,
 * `optional`.
 */

import type { Cursor } from "./cursor.ts";

/** Skips one value. */
export type Layout = (cursor: Cursor) => void;

export const fixed =
  (size: number): Layout =>
  (cursor) => {
    cursor.skip(size);
  };

export const record =
  (...fields: readonly Layout[]): Layout =>
  (cursor) => {
    for (const field of fields) field(cursor);
  };

/** A variant without fields. */
export const nothing: Layout = () => {};

/** An enum, its variants in order. */
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
/** An address or object id. */
export const address = fixed(32);
/** Bytes, or a string that is not read. */
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
/** A validator's BLS key: length, always 96, then bytes. */
export const authorityKey: Layout = (cursor) => {
  const length = cursor.u8();
  if (length !== 96) cursor.fail(`a validator's key has 96 bytes, found length ${length}`);
  cursor.skip(96);
};
