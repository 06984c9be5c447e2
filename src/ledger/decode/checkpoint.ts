/**
 * A checkpoint of the Sui ledger as this system understands it: plain values, no wire format.
 *
 * Addresses and object ids are `0x` and 64 lower-case hex digits; digests are base58; types are
 * canonical (`0x…64::module::Name<0x…64::m::N,u64>`, parameters joined by `,` without a space).
 * `contents` is always the raw BCS of the Move struct.
 */

/** What identifies a checkpoint; read even when nothing inside concerns us. */
export type CheckpointHeader = {
  /** Number in the chain, from 0, without gaps. */
  readonly sequence: bigint;
  readonly epoch: bigint;
  /** Milliseconds since the Unix epoch, as the validators agreed. */
  readonly timestampMs: bigint;
  /** Digest of the checkpoint's summary. */
  readonly digest: string;
  /** Digest of the list of its transactions. */
  readonly contentDigest: string;
  /** Digest of the checkpoint before it; null for the chain's first. */
  readonly previousDigest: string | null;
};

/** A decoded checkpoint: every transaction in chain order, failed ones too. */
export type Checkpoint = CheckpointHeader & { readonly transactions: readonly Transaction[] };

/** One transaction: what it said (events) and what it left behind (objects). */
export type Transaction = {
  readonly digest: string;
  /** Address that signed it (not a gas sponsor). */
  readonly sender: string;
  readonly events: readonly Event[];
  /** Move objects as they stood after it, packages left out. */
  readonly outputObjects: readonly OutputObject[];
  /** Packages that it published or upgraded, in the order of the effects; never left out. */
  readonly packages: readonly PublishedPackage[];
  /** Move objects that ceased to stand on their own: deleted or wrapped. */
  readonly removedObjects: readonly RemovedObject[];
};

/** A Move event. */
export type Event = {
  /** Position inside its transaction, from 0; not renumbered when other events are left out. */
  readonly index: number;
  /** Package version whose code ran. NOT the package that defines the type. */
  readonly packageId: string;
  readonly module: string;
  readonly sender: string;
  readonly type: string;
  readonly contents: Uint8Array;
};

/** A Move object as a transaction left it. */
export type OutputObject = {
  readonly id: string;
  readonly version: bigint;
  /** Version in which the transaction took it in; null when it made it, or unwrapped it. */
  readonly versionBefore: bigint | null;
  readonly type: string;
  readonly owner: Owner;
  /** Digest of the transaction that wrote it. */
  readonly previousTransaction: string;
  readonly contents: Uint8Array;
};

/** A version of a package. Packages never change: an upgrade publishes another one. */
export type PublishedPackage = {
  /** Its own address: types that it is the first to define carry it. */
  readonly id: string;
  /** 1 for the original, one more with every upgrade. */
  readonly version: bigint;
  /** The versions that first defined its types, itself perhaps among them, each once. */
  readonly typeOrigins: readonly string[];
};

/** A Move object that a transaction deleted or wrapped. */
export type RemovedObject = {
  readonly id: string;
  /** Version before the transaction. */
  readonly version: bigint;
  readonly type: string;
};

/** Who may use an object in a transaction; not who holds the tokens inside it. */
export type Owner =
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "object"; readonly address: string }
  | { readonly kind: "shared"; readonly initialSharedVersion: bigint }
  | { readonly kind: "immutable" }
  | { readonly kind: "consensus"; readonly address: string; readonly startVersion: bigint }
  | {
      /** Several addresses with different rights; permissions are bit masks of the network. */
      readonly kind: "party";
      readonly startVersion: bigint;
      readonly defaultPermissions: bigint;
      readonly members: readonly { readonly address: string; readonly permissions: bigint }[];
    };

/** The two wire formats a checkpoint comes in. */
export type Encoding =
  /** BCS of `CheckpointData` (a `.chk` file without its first byte). */
  | "bcs"
  /** Protobuf of `sui.rpc.v2.Checkpoint`, its parts as BCS (`summary.bcs`, `effects.bcs`, …). */
  | "protobuf";

/** A checkpoint as a source hands it over: decompressed, not decoded. */
export type RawCheckpoint = {
  /** The number it was asked for by; the decoder checks it against the bytes. */
  readonly sequence: bigint;
  readonly encoding: Encoding;
  readonly bytes: Uint8Array;
};
