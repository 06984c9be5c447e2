import { digestOf } from "../../src/ledger/decode/digest.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import type { Validator } from "../wire/certificate.ts";
import type { ExecutedTransaction, StoredObject } from "../wire/checkpoint.ts";
import { type GasCost, NO_GAS } from "../wire/effects.ts";
import { encodeMoveObject, type MoveObject, type ObjectOwner } from "../wire/object.ts";
import { firstCommittee } from "./validators.ts";

/** A live object with its encoding, for later transactions. */
export type LiveObject = MoveObject & StoredObject;

/** A published package, as later transactions need it. */
export type Package = {
  readonly id: string;
  /** Id of the first version; Move code uses it. */
  readonly originalId: string;
  readonly version: bigint;
  readonly typeOrigins: readonly {
    readonly module: string;
    readonly name: string;
    readonly package: string;
  }[];
  /** Digest of the publishing transaction. */
  readonly publishedBy: Uint8Array;
};

/** State of the simulated network between checkpoints: plain data. */
export type Chain = {
  epoch: bigint;
  /** Validators of the epoch, ordered by key. */
  committee: readonly Validator[];
  nextSequence: bigint;
  /** Digest of the newest checkpoint; null before the first. */
  previousDigest: Uint8Array | null;
  /** Time of the newest checkpoint. */
  timestampMs: bigint;
  networkTransactions: bigint;
  epochGas: GasCost;
  round: bigint;
  /** Live Move objects by id. */
  readonly objects: Map<string, LiveObject>;
  /** Packages by id. */
  readonly packages: Map<string, Package>;
  /** Gas coin of each account, by address. */
  readonly gasCoins: Map<string, string>;
  /** Account labels by address, see `Keyring`. */
  readonly accounts: Map<string, string>;
};

/** A checkpoint that still takes transactions. */
export type OpenCheckpoint = {
  readonly sequence: bigint;
  readonly timestampMs: bigint;
  readonly transactions: ExecutedTransaction[];
};

/** An empty network; validator keys derive from the seed. */
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

export const stored = (object: MoveObject): LiveObject => {
  const bytes = encodeMoveObject(object);
  return { ...object, bytes, digest: digestOf("Object", bytes) };
};

/** 0 when not shared. */
export const initialSharedVersion = (owner: ObjectOwner): bigint =>
  owner.kind === "shared" ? owner.initialSharedVersion : 0n;

/** Contents of `0x2::coin::Coin<T>`: id and balance. */
export const coinContents = (id: string, balance: bigint): Uint8Array =>
  new ByteWriter().address(id).u64(balance).done();

export const coinBalance = (contents: Uint8Array): bigint =>
  new DataView(contents.buffer, contents.byteOffset).getBigUint64(32, true);

/** Contents of the gas coin after paying. */
export const spendGas = (id: string, contents: Uint8Array, gas: GasCost): Uint8Array =>
  coinContents(id, coinBalance(contents) - gas.computation - gas.storage + gas.rebate);
