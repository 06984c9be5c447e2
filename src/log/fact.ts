/**
 * A fact: one thing a checkpoint says about security tokens, as raw as it was read.
 *
 * Facts are written once and never changed; everything served is folded from them. They carry the
 * BCS bytes, so that a decoder that learns something new replays from the log.
 */

/** Where a fact stands in chain order. The only source of order in the system. */
export type Position = {
  readonly checkpoint: bigint;
  /** Index of the transaction inside the checkpoint, from 0. */
  readonly transaction: number;
  /** Event index, or index of the object change, inside the transaction, from 0. */
  readonly index: number;
};

type Common = Position & {
  /** Canonical type of the event or object, parameters included. */
  readonly type: string;
  /** `module::Name` of the type, without address and parameters: what pipelines select by. */
  readonly name: string;
  /** First type parameter, canonical: the coin type of the security; null when there is none. */
  readonly coinType: string | null;
  /** Base58 digest of the transaction. */
  readonly txDigest: string;
  /** Address that signed the transaction. */
  readonly sender: string;
  /** Time of the checkpoint, milliseconds since the Unix epoch. */
  readonly timestampMs: bigint;
};

/** The contract announced something. */
export type EventFact = Common & { readonly kind: "event"; readonly contents: Uint8Array };

/** An object stood like this after a transaction. */
export type ObjectFact = Common & {
  readonly kind: "object";
  readonly objectId: string;
  readonly version: bigint;
  readonly contents: Uint8Array;
};

/** An object ceased to stand: deleted, or wrapped into another. */
export type RemovalFact = Common & {
  readonly kind: "removal";
  readonly objectId: string;
  /** Version before the transaction. */
  readonly version: bigint;
};

export type Fact = EventFact | ObjectFact | RemovalFact;

/** A fact as it is read from the ledger: the log keeps beside it which version the transaction took in. */
export type ReadFact =
  | EventFact
  | RemovalFact
  | (ObjectFact & {
      /** Null when the transaction made the object, or unwrapped it. */
      readonly versionBefore: bigint | null;
    });

/** Characters of the longest type that is part of a row's key; a key has two at most, and an address. */
const MAX_KEY_TYPE = 1024;

/**
 * Whether a type is short enough to be the key of rows: Postgres refuses index entries of some 2700
 * bytes. A coin's type has 326 characters at most, unless it has type parameters itself; any caller can put
 * metadata of such a type on the ledger, as long as they like, and must not stop the others' indexing.
 * Facts of longer ones are in the log and in no projection.
 */
export const isIndexable = (type: string): boolean => type.length <= MAX_KEY_TYPE;

/** What a watermark remembers of the last checkpoint it covers. */
export type CheckpointMark = {
  readonly sequence: bigint;
  readonly digest: string;
  readonly timestampMs: bigint;
};

/**
 * Everything the log says about checkpoints `first` up to and including `last.sequence`: what the
 * reader appends and what a pipeline applies, in one transaction each. `facts` may be empty: an empty
 * checkpoint is progress too.
 */
export type FactBatch = {
  readonly first: bigint;
  readonly last: CheckpointMark;
  /** In chain order: by checkpoint, then transaction, then events before object changes. */
  readonly facts: readonly Fact[];
};

/** A version of the contract's package that the ledger published while its log was read. */
export type JoinedPackage = Pick<Position, "checkpoint" | "transaction"> & {
  /** Canonical; types that this version is the first to define carry it. */
  readonly address: string;
};

/** Times and digests of consecutive checkpoints, ascending and packed (block.ts). */
export type Block = {
  /** Milliseconds since the Unix epoch, 8 bytes big-endian for each checkpoint. */
  readonly times: Uint8Array;
  /** 32 bytes for each checkpoint. */
  readonly digests: Uint8Array;
};

/** What the reader appends: a batch, and what the log remembers of its checkpoints. */
export type AppendBatch = Omit<FactBatch, "facts"> & {
  /** As in every batch. */
  readonly facts: readonly ReadFact[];
  /**
   * Those of the checkpoints that hold facts, ascending: the log plans its reads by them, and a batch
   * read back can end at any of them.
   */
  readonly marks: readonly CheckpointMark[];
  /** Time and digest of every checkpoint. */
  readonly block: Block;
  /** Packages whose facts are kept from their publication in this batch on, in chain order; absent: none. */
  readonly joined?: readonly JoinedPackage[];
  /** What proves these checkpoints, ascending; absent: nothing does. */
  readonly proofs?: readonly StretchProof[];
  /** Committees that the log did not know. */
  readonly committees?: readonly LogCommittee[];
};

/** The validators' signature on the last checkpoint of a stretch. */
export type StretchProof = {
  readonly firstCheckpoint: bigint;
  readonly lastCheckpoint: bigint;
  readonly epoch: bigint;
  /** BCS of the last one's summary. */
  readonly summary: Uint8Array;
  /** 48 bytes, and the roaring bitmap of the signers. */
  readonly signature: Uint8Array;
  readonly signers: Uint8Array;
};

/** The committee of an epoch. */
export type LogCommittee = {
  readonly epoch: bigint;
  /** For each member, by key ascending: its BLS key, 96 bytes, and its stake, 8 bytes big-endian. */
  readonly members: Uint8Array;
  /** The checkpoint that names it; null for one that was trusted. */
  readonly namedBy: bigint | null;
};

/** Decimals of a coin as a metadata object on the ledger gave them. */
export type CoinDecimals = { readonly coinType: string; readonly decimals: number };
