import type { Owner } from "../../src/ledger/decode/checkpoint.ts";
import { ByteWriter } from "./byte-writer.ts";
import { objectType } from "./type-tag.ts";

/** Kinds of owner on the demo ledger. */
export type ObjectOwner = Exclude<Owner, { readonly kind: "consensus" | "party" }>;

/** The network's storage price, in SUI's smallest unit. */
const PRICE_PER_BYTE = 7_600n;
/** An object's bytes besides type and contents. */
const OVERHEAD = 89n;

/** A Move object as stored and hashed. */
export type MoveObject = {
  readonly id: string;
  readonly version: bigint;
  /** Canonical. */
  readonly type: string;
  /** Whether the type has `store`, so that any owner may transfer it. */
  readonly publicTransfer: boolean;
  /** BCS of the Move struct, id first. */
  readonly contents: Uint8Array;
  readonly owner: ObjectOwner;
  /** Digest of the transaction that wrote it. */
  readonly previousTransaction: Uint8Array;
  /** Refunded when the object is written again or deleted. */
  readonly storageRebate: bigint;
};

/** A package as stored and hashed; immutable. */
export type PackageObject = {
  readonly id: string;
  /** 1 at first, plus one per upgrade. */
  readonly version: bigint;
  /** Module name to bytecode. */
  readonly modules: ReadonlyMap<string, Uint8Array>;
  /** The package version that first defined each type. */
  readonly typeOrigins: readonly {
    readonly module: string;
    readonly name: string;
    readonly package: string;
  }[];
  /** Dependencies: original id, and id and version in use. Sorted by id. */
  readonly linkage: readonly {
    readonly original: string;
    readonly upgraded: string;
    readonly version: bigint;
  }[];
  readonly previousTransaction: Uint8Array;
  readonly storageRebate: bigint;
};

/** Storage fee of a Move object, by the network's gas schedule. */
export const storageFee = (type: string, contentsLength: number): bigint =>
  (BigInt(contentsLength + objectType(type).length) + OVERHEAD) * PRICE_PER_BYTE;

export const packageStorageFee = (modules: ReadonlyMap<string, Uint8Array>): bigint => {
  let bytes = OVERHEAD;
  for (const [name, code] of modules) bytes += BigInt(name.length + code.length);
  return bytes * PRICE_PER_BYTE;
};

/** BCS of `Owner`. */
export const writeOwner = (writer: ByteWriter, owner: ObjectOwner): ByteWriter => {
  switch (owner.kind) {
    case "address":
      return writer.u8(0).address(owner.address);
    case "object":
      return writer.u8(1).address(owner.address);
    case "shared":
      return writer.u8(2).u64(owner.initialSharedVersion);
    case "immutable":
      return writer.u8(3);
  }
};

/** BCS of `Data::Move`, also used in genesis. */
export const writeMoveData = (
  writer: ByteWriter,
  object: Pick<MoveObject, "type" | "publicTransfer" | "version" | "contents">,
): ByteWriter =>
  writer
    .u8(0)
    .raw(objectType(object.type))
    .bool(object.publicTransfer)
    .u64(object.version)
    .bytes(object.contents);

/** BCS of `Data::Package`. */
export const writePackageData = (
  writer: ByteWriter,
  object: Omit<PackageObject, "previousTransaction" | "storageRebate">,
): ByteWriter =>
  writer
    .u8(1)
    .address(object.id)
    .u64(object.version)
    .list([...object.modules].sort(byEncodedName), (w, [name, code]) => w.string(name).bytes(code))
    .list(object.typeOrigins, (w, origin) =>
      w.string(origin.module).string(origin.name).address(origin.package),
    )
    .list(object.linkage, (w, link) =>
      w.address(link.original).address(link.upgraded).u64(link.version),
    );

/** BCS sorts maps by encoded keys: a string's length comes first. */
const byEncodedName = (
  [a]: readonly [string, unknown],
  [b]: readonly [string, unknown],
): number => {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
};

/** BCS of `Object` for a Move object. */
export const encodeMoveObject = (object: MoveObject): Uint8Array =>
  writeOwner(writeMoveData(new ByteWriter(), object), object.owner)
    .bytes(object.previousTransaction)
    .u64(object.storageRebate)
    .done();

/** BCS of `Object` for a package. */
export const encodePackageObject = (object: PackageObject): Uint8Array =>
  writeOwner(writePackageData(new ByteWriter(), object), { kind: "immutable" })
    .bytes(object.previousTransaction)
    .u64(object.storageRebate)
    .done();
