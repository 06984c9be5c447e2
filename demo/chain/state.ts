import { digestOf } from "../../src/ledger/decode/digest.ts";
import type { Validator } from "../wire/certificate.ts";
import type { ExecutedTransaction, StoredObject } from "../wire/checkpoint.ts";
import { type GasCost, NO_GAS } from "../wire/effects.ts";
import type { ObjectOwner } from "../wire/object.ts";
import { encodeMoveObject, type MoveObject } from "../wire/object.ts";
import { firstCommittee } from "./validators.ts";

/** A live object with its encoding: it is an input of the next transaction that touches it. */
export type LiveObject = MoveObject & StoredObject;

/** A published package, as far as later transactions need it. */
export type Package = {
  readonly id: string;
  /** Id of the first version; Move code names modules by it. */
  readonly originalId: string;
  readonly version: bigint;
  readonly typeOrigins: readonly {
    readonly module: string;
    readonly name: string;
    readonly package: string;
  }[];
  /** Digest of the transaction that published it. */
  readonly publishedBy: Uint8Array;
};

/** Everything the simulated network remembers between checkpoints: plain data. */
export type Chain = {
  epoch: bigint;
  /** The validators of the epoch, in the order of their keys. */
  committee: readonly Validator[];
  nextSequence: bigint;
  /** Digest of the newest checkpoint; null before the first. */
  previousDigest: Uint8Array | null;
  /** Time of the newest checkpoint. */
  timestampMs: bigint;
  networkTransactions: bigint;
  epochGas: GasCost;
  /** Round of the consensus. */
  round: bigint;
  /** Live Move objects by id. */
  readonly objects: Map<string, LiveObject>;
  /** Packages by id. */
  readonly packages: Map<string, Package>;
  /** The coin each account pays with, by address. */
  readonly gasCoins: Map<string, string>;
  /** Label of every account by address, see `Keyring`. */
  readonly accounts: Map<string, string>;
};

/** A checkpoint while transactions are put into it. */
export type OpenCheckpoint = {
  readonly sequence: bigint;
  readonly timestampMs: bigint;
  readonly transactions: ExecutedTransaction[];
};

/** A network without a checkpoint; its validators' keys follow from the seed. */
export const emptyChain = (seed: string): Chain => ({
  epoch: 0n,
  committee: firstCommittee(seed),
  nextSequence: 0n,
  previousDigest: null,
  timestampMs: 0n,
  networkTransactions: 0n,
  epochGas: NO_GAS,
  round: 0n,
  objects: new Map(),
  packages: new Map(),
  gasCoins: new Map(),
  accounts: new Map(),
});

/** The object with its encoding and digest. */
export const stored = (object: MoveObject): LiveObject => {
  const bytes = encodeMoveObject(object);
  return { ...object, bytes, digest: digestOf("Object", bytes) };
};

/** Initial shared version of an owner; 0 when it is not shared. */
export const initialSharedVersion = (owner: ObjectOwner): bigint =>
  owner.kind === "shared" ? owner.initialSharedVersion : 0n;
