/** Objects of made-up checkpoints. */
import { toBase58 } from "@mysten/sui/utils";
import { blake2b } from "@noble/hashes/blake2.js";
import * as wire from "./wire-types.ts";

/** An object in one version. */
export type FixtureObject = {
  readonly id: string;
  readonly version: bigint;
  /** A Move object's type; null for a package. */
  readonly type: typeof wire.moveObjectType.$inferInput | null;
  readonly owner: typeof wire.owner.$inferInput;
  /** What follows the id in a Move object's contents. */
  readonly rest?: Uint8Array;
  /** The versions that first defined a package's types, one for each type; one of `0x5` unless given. */
  readonly origins?: readonly string[];
  /** Packages that a package depends on; the framework unless given. */
  readonly dependencies?: readonly string[];
};

/** `0x` and 64 digits of a small number, or of what stands after `0x`. */
export const id = (value: number | string): string =>
  `0x${(typeof value === "number" ? value.toString(16) : value.slice(2)).padStart(64, "0")}`;

/** BCS of an object. */
export const encodeObject = ({
  id: objectId,
  version,
  type,
  owner,
  rest,
  origins = [id(5)],
  dependencies = [id(2)],
}: FixtureObject): Uint8Array =>
  wire.object
    .serialize({
      data:
        type === null
          ? { Package: { ...packageOf(origins, dependencies), id: objectId, version } }
          : {
              Move: {
                type,
                hasPublicTransfer: false,
                version,
                contents: join([Buffer.from(objectId.slice(2), "hex"), rest ?? new Uint8Array()]),
              },
            },
      owner,
      previousTransaction: new Uint8Array(32).fill(5),
      storageRebate: 988,
    })
    .toBytes();

const packageOf = (origins: readonly string[], dependencies: readonly string[]) => ({
  moduleMap: new Map([["shared_token", Uint8Array.of(161, 28, 235, 11)]]),
  typeOriginTable: origins.map((origin, i) => ({
    moduleName: "shared_token",
    datatypeName: i === 0 ? "SharedToken" : `SharedToken${i}`,
    package: origin,
  })),
  linkageTable: new Map(
    dependencies.map((address) => [address, { upgradedId: address, upgradedVersion: 40 }]),
  ),
});

/** Base58 digest of an object. */
export const objectDigest = (object: FixtureObject): string =>
  toBase58(hash("Object", encodeObject(object)));

/** One after another. */
export const join = (parts: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(Buffer.concat(parts));

/** A digest as the ledger makes them, by a library. */
export const hash = (name: string, bytes: Uint8Array): Uint8Array =>
  blake2b
    .create({ dkLen: 32 })
    .update(Buffer.from(`${name}::`))
    .update(bytes)
    .digest();
