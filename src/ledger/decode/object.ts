import type { OutputObject, Owner, PublishedPackage, RemovedObject } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import { address, bytes, fixed, record, text, u64, vector } from "./layout.ts";
import { readObjectType, skipObjectType } from "./type-tag.ts";

/** An object's location in the bytes; the rest is read on demand. */
export type ObjectSpan = {
  /** BCS of the object, `end` excluded. */
  readonly start: number;
  readonly end: number;
  readonly kind: "move" | "package";
  readonly idAt: number;
  readonly versionAt: number;
  /** Offset of its type (Move objects). */
  readonly typeAt: number;
  /** BCS of the Move struct (Move objects). */
  readonly contentsStart: number;
  readonly contentsEnd: number;
  /** Offset of its type origins (packages). */
  readonly originsAt: number;
};

/** Reads an `Object` (data, owner, previous transaction, storage rebate) as a span. */
export const readObject = (cursor: Cursor): ObjectSpan => {
  const start = cursor.at;
  const { kind, idAt, versionAt, typeAt, contentsStart, contentsEnd, originsAt } =
    cursor.variant("Data", 2) === 0 ? readMoveObject(cursor) : readPackage(cursor);
  skipOwner(cursor);
  cursor.digest();
  cursor.skip(8);
  const { at: end } = cursor;
  return { start, end, kind, idAt, versionAt, typeAt, contentsStart, contentsEnd, originsAt };
};

/**
 * The Move object after the transaction.
 * @param before the transaction's input of this object
 */
export const toOutputObject = (
  cursor: Cursor,
  span: ObjectSpan,
  before: { readonly versionAt: number } | undefined,
): OutputObject => {
  cursor.at = span.typeAt;
  const type = readObjectType(cursor);
  cursor.at = span.contentsEnd;
  const owner = readOwner(cursor);
  const previousTransaction = cursor.digestText(cursor.digest());
  return {
    id: cursor.address(span.idAt),
    version: cursor.u64At(span.versionAt),
    versionBefore: before === undefined ? null : cursor.u64At(before.versionAt),
    type,
    owner,
    previousTransaction,
    contents: cursor.copy(span.contentsStart, span.contentsEnd),
  };
};

/** The Move object before its removal. */
export const toRemovedObject = (cursor: Cursor, span: ObjectSpan): RemovedObject => {
  cursor.at = span.typeAt;
  return {
    id: cursor.address(span.idAt),
    version: cursor.u64At(span.versionAt),
    type: readObjectType(cursor),
  };
};

/** The package as published. */
export const toPublishedPackage = (cursor: Cursor, span: ObjectSpan): PublishedPackage => {
  const typeOrigins = new Set<string>();
  cursor.at = span.originsAt;
  for (let left = cursor.length(); left > 0; left--) {
    cursor.skipBytes(); // module
    cursor.skipBytes(); // type
    typeOrigins.add(cursor.address(cursor.skip(32)));
  }
  return {
    id: cursor.address(span.idAt),
    version: cursor.u64At(span.versionAt),
    typeOrigins: [...typeOrigins],
  };
};

/** What a package executes: BCS of its modules by name, and of the packages that they call. */
export const codeOf = (cursor: Cursor, { versionAt, originsAt }: ObjectSpan): Uint8Array => {
  cursor.at = originsAt;
  skipOrigins(cursor);
  const linkageAt = cursor.at;
  skipLinkage(cursor);
  return Buffer.concat([cursor.copy(versionAt + 8, originsAt), cursor.copy(linkageAt, cursor.at)]);
};

const readMoveObject = (cursor: Cursor): Omit<ObjectSpan, "start" | "end"> => {
  const typeAt = cursor.at;
  skipObjectType(cursor);
  cursor.bool(); // has public transfer
  const versionAt = cursor.skip(8);
  const length = cursor.length();
  if (length < 32) cursor.fail(`an object's contents begin with its id, found ${length} bytes`);
  const contentsStart = cursor.skip(length);
  const contentsEnd = cursor.at;
  const span = { idAt: contentsStart, versionAt, typeAt, contentsStart, contentsEnd };
  return { kind: "move", ...span, originsAt: 0 };
};

const readPackage = (cursor: Cursor): Omit<ObjectSpan, "start" | "end"> => {
  const idAt = cursor.skip(32);
  const versionAt = cursor.skip(8);
  skipModules(cursor);
  const originsAt = cursor.at;
  skipOrigins(cursor);
  skipLinkage(cursor);
  const span = { idAt, versionAt, typeAt: 0, contentsStart: 0, contentsEnd: 0 };
  return { kind: "package", ...span, originsAt };
};

/** Code by module name. */
const skipModules = vector(record(text, bytes));

/** Module, type and defining package. */
const skipOrigins = vector(record(text, text, address));
/** Original address, address and version in use. */
const skipLinkage = vector(record(address, address, u64));

/** `Data` and `Owner` of a genesis object. */
export const skipGenesisObject = (cursor: Cursor): void => {
  cursor.variant("GenesisObject", 1);
  if (cursor.variant("Data", 2) === 0) readMoveObject(cursor);
  else readPackage(cursor);
  skipOwner(cursor);
};

/** Address and permission bits. */
const skipPartyMembers = vector(fixed(32 + 8));

const OWNER_VARIANTS = 6;

export const skipOwner = (cursor: Cursor): void => {
  switch (cursor.variant("Owner", OWNER_VARIANTS)) {
    case 0:
    case 1:
      cursor.skip(32);
      return;
    case 2:
      cursor.skip(8);
      return;
    case 3:
      return;
    case 4:
      cursor.skip(8 + 32);
      return;
    default:
      cursor.skip(8 + 8);
      skipPartyMembers(cursor);
  }
};

const readOwner = (cursor: Cursor): Owner => {
  switch (cursor.variant("Owner", OWNER_VARIANTS)) {
    case 0:
      return { kind: "address", address: cursor.address(cursor.skip(32)) };
    case 1:
      return { kind: "object", address: cursor.address(cursor.skip(32)) };
    case 2:
      return { kind: "shared", initialSharedVersion: cursor.u64() };
    case 3:
      return { kind: "immutable" };
    case 4: {
      const startVersion = cursor.u64();
      return { kind: "consensus", address: cursor.address(cursor.skip(32)), startVersion };
    }
    default:
      return readParty(cursor);
  }
};

const readParty = (cursor: Cursor): Owner => {
  const startVersion = cursor.u64();
  const defaultPermissions = cursor.u64();
  const members: { address: string; permissions: bigint }[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    members.push({ address: cursor.address(cursor.skip(32)), permissions: cursor.u64() });
  }
  return { kind: "party", startVersion, defaultPermissions, members };
};
