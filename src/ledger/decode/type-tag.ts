import { PRIMITIVES } from "../../../client/bcs.ts";
import { FRAMEWORK, MAX_TYPE_DEPTH } from "../../values/move-type.ts";
import type { Cursor } from "./cursor.ts";
import type { Layout } from "./layout.ts";

const SYSTEM = `0x${"3".padStart(64, "0")}`;
const SUI = `${FRAMEWORK}::sui::SUI`;
const GAS_COIN = `${FRAMEWORK}::coin::Coin<${SUI}>`;

const VECTOR = 6;

/** A type without its parameters. */
export type TypeHead = {
  /** Canonical address of the package that first defined it. */
  readonly address: string;
  readonly module: string;
  readonly name: string;
};

/** Reads a type tag as canonical text. */
export const readTypeTag = (cursor: Cursor, depth = 0): string => {
  const variant = tag(cursor, depth);
  const primitive = PRIMITIVES[variant];
  if (typeof primitive === "string") return primitive;
  return variant === VECTOR
    ? `vector<${readTypeTag(cursor, depth + 1)}>`
    : readStruct(cursor, depth + 1);
};

export const skipTypeTag = (cursor: Cursor, depth = 0): void => {
  const variant = tag(cursor, depth);
  if (PRIMITIVES[variant] !== null) return;
  if (variant === VECTOR) skipTypeTag(cursor, depth + 1);
  else skipStructTag(cursor, depth + 1);
};

/** Reads a struct type as canonical text: `0x…64::module::Name<…,…>`. */
export const readStructTag = (cursor: Cursor): string => {
  const start = cursor.at;
  skipStructTag(cursor);
  const end = cursor.at;
  return textOfType(cursor, start, end, () => {
    cursor.at = start;
    return readStruct(cursor, 0);
  });
};

const readStruct = (cursor: Cursor, depth: number): string => {
  const { address, module, name } = readTypeHead(cursor);
  const head = `${address}::${module}::${name}`;
  const count = cursor.length();
  if (count === 0) return head;
  const parameters: string[] = [];
  for (let i = 0; i < count; i++) parameters.push(readTypeTag(cursor, depth + 1));
  return `${head}<${parameters.join(",")}>`;
};

export const skipStructTag = (cursor: Cursor, depth = 0): void => {
  cursor.skip(32);
  cursor.skipBytes();
  cursor.skipBytes();
  for (let left = cursor.length(); left > 0; left--) skipTypeTag(cursor, depth + 1);
};

/** Reads address, module and name of a struct type; its parameters remain unread. */
export const readTypeHead = (cursor: Cursor): TypeHead => ({
  address: cursor.address(cursor.skip(32)),
  module: readIdentifier(cursor),
  name: readIdentifier(cursor),
});

/** @throws CheckpointDecodeError (retry) for other text than a Move identifier */
export const readIdentifier = (cursor: Cursor): string => {
  const length = cursor.length();
  const start = cursor.skip(length);
  for (let at = start; at < cursor.at; at++) {
    if (!isWordByte(cursor.bytes[at]))
      cursor.fail("a Move identifier has letters, digits and _", at);
  }
  if (length === 0 || isDigit(cursor.bytes[start])) {
    cursor.fail("a Move identifier begins with a letter or _", start);
  }
  return cursor.bytes.toString("latin1", start, cursor.at);
};

/** Reads `MoveObjectType`, which abbreviates common types. */
export const readObjectType = (cursor: Cursor): string => {
  switch (objectTypeVariant(cursor)) {
    case 0:
      return readStructTag(cursor);
    case 1:
      return GAS_COIN;
    case 2:
      return `${SYSTEM}::staking_pool::StakedSui`;
    case 3:
      return `${FRAMEWORK}::coin::Coin<${readTypeTag(cursor)}>`;
    case 4:
      return balanceField(SUI);
    default:
      return balanceField(readTypeTag(cursor));
  }
};

/** Reads the head of a `MoveObjectType`; parameters remain unread. */
export const readObjectTypeHead = (cursor: Cursor): TypeHead => {
  switch (objectTypeVariant(cursor)) {
    case 0:
      return readTypeHead(cursor);
    case 1:
    case 3:
      return { address: FRAMEWORK, module: "coin", name: "Coin" };
    case 2:
      return { address: SYSTEM, module: "staking_pool", name: "StakedSui" };
    default:
      return { address: FRAMEWORK, module: "dynamic_field", name: "Field" };
  }
};

export const skipObjectType: Layout = (cursor) => {
  const variant = objectTypeVariant(cursor);
  if (variant === 0) skipStructTag(cursor);
  else if (variant === 3 || variant === 5) skipTypeTag(cursor);
};

/** Addresses of abbreviated object types (`GasCoin`, …), which a byte search cannot find. */
export const SHORTENED_TYPE_ADDRESSES: readonly string[] = [FRAMEWORK, SYSTEM];

export const typeTag: Layout = (cursor) => skipTypeTag(cursor);

const objectTypeVariant = (cursor: Cursor): number => cursor.variant("MoveObjectType", 6);

const tag = (cursor: Cursor, depth: number): number => {
  if (depth > MAX_TYPE_DEPTH) cursor.fail(`a type nested more than ${MAX_TYPE_DEPTH} levels deep`);
  return cursor.variant("TypeTag", PRIMITIVES.length);
};

/** Type of the network's balance field of coin `T`. */
const balanceField = (coin: string): string =>
  `${FRAMEWORK}::dynamic_field::Field<${FRAMEWORK}::accumulator::Key<${FRAMEWORK}::balance::Balance<${coin}>>,${FRAMEWORK}::accumulator::U128>`;

const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= 0x30 && byte <= 0x39;

const isWordByte = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    isDigit(byte) ||
    byte === 0x5f);

/** At most 2 MB in all. */
const MOST = 1024;
const LONGEST = 512;

/** Canonical texts of struct types by their BCS (latin1). */
const texts = new Map<string, string>();

/**
 * Canonical text of the struct type at `start`, cached: a ledger has few types and repeats them,
 * and equal strings share memory. `read` validates on a miss.
 */
const textOfType = (cursor: Cursor, start: number, end: number, read: () => string): string => {
  if (end - start > LONGEST) return read();
  const bytes = cursor.bytes.toString("latin1", start, end);
  const known = texts.get(bytes);
  if (known !== undefined) return known;
  const text = read();
  if (texts.size === MOST) texts.clear();
  texts.set(bytes, text);
  return text;
};
