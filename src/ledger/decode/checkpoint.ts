/**
 * A decoded checkpoint of the Sui ledger, independent of its encoding.
 *
 * Addresses and object ids are `0x` and 64 lower-case hex digits; digests are base58; types are
 * canonical (`0x…64::module::Name<0x…64::m::N,u64>`, no spaces). `contents` is the raw BCS of the
 * Move struct.
 */

/** Identifies a checkpoint; read even when its content is skipped. */
export type CheckpointHeader = {
  /** Number in the chain, from 0, without gaps. */
  readonly sequence: bigint;
  readonly epoch: bigint;
  /** Unix ms, as agreed by the validators. */
  readonly timestampMs: bigint;
  readonly digest: string;
  /** Digest of the list of transactions. */
  readonly contentDigest: string;
  /** Null for the chain's first checkpoint. */
  readonly previousDigest: string | null;
};

/** All transactions in chain order, failed ones too. */
export type Checkpoint = CheckpointHeader & { readonly transactions: readonly Transaction[] };

export type Transaction = {
  readonly digest: string;
  /** Signer, not a gas sponsor. */
  readonly sender: string;
  readonly events: readonly Event[];
  /** Move objects after the transaction, without packages. */
  readonly outputObjects: readonly OutputObject[];
  /** Packages published or upgraded, in the order of the effects; never filtered. */
  readonly packages: readonly PublishedPackage[];
  /** Move objects deleted or wrapped. */
  readonly removedObjects: readonly RemovedObject[];
};

export type Event = {
  /** Index inside its transaction, from 0, counting filtered events. */
  readonly index: number;
  /** Package version whose code ran, NOT the one that defines the type. */
  readonly packageId: string;
  readonly module: string;
  readonly sender: string;
  readonly type: string;
  readonly contents: Uint8Array;
};

/** A Move object after a transaction. */
export type OutputObject = {
  readonly id: string;
  readonly version: bigint;
  /** Input version; null when the transaction created or unwrapped the object. */
  readonly versionBefore: bigint | null;
  readonly type: string;
  readonly owner: Owner;
  /** Digest of the transaction that wrote it. */
  readonly previousTransaction: string;
  readonly contents: Uint8Array;
};

/** A package version. Immutable: an upgrade publishes another. */
export type PublishedPackage = {
  /** Its address; types first defined by it carry it. */
  readonly id: string;
  /** 1 for the original, plus one per upgrade. */
  readonly version: bigint;
  /** Versions that first defined its types, each once. */
  readonly typeOrigins: readonly string[];
};

export type RemovedObject = {
  readonly id: string;
  /** Version before the transaction. */
  readonly version: bigint;
  readonly type: string;
};

/** Who may use the object in transactions, not who owns tokens inside. */
export type Owner =
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "object"; readonly address: string }
  | { readonly kind: "shared"; readonly initialSharedVersion: bigint }
  | { readonly kind: "immutable" }
  | { readonly kind: "consensus"; readonly address: string; readonly startVersion: bigint }
  | {
      /** Several addresses with rights; permissions are the network's bit masks. */
      readonly kind: "party";
      readonly startVersion: bigint;
      readonly defaultPermissions: bigint;
      readonly members: readonly { readonly address: string; readonly permissions: bigint }[];
    };

export type Encoding =
  /** BCS of `CheckpointData` (a `.chk` file without its first byte). */
  | "bcs"
  /** Protobuf of `sui.rpc.v2.Checkpoint`, with parts as BCS (`summary.bcs`, `effects.bcs`, …). */
  | "protobuf";

/** A checkpoint from a source: decompressed, not decoded. */
export type RawCheckpoint = {
  /** The number requested; the decoder checks it. */
  readonly sequence: bigint;
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
};
