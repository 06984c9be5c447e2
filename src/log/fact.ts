/**
 * A fact: one thing a checkpoint says about security tokens, in raw form.
 *
 * Facts never change, and everything served is folded from them. They carry BCS, so that an
 * improved decoder replays from the log.
 */

/** Position in chain order, the only source of order. */
export type Position = {
  readonly checkpoint: bigint;
  /** Index of the transaction inside the checkpoint, from 0. */
  readonly transaction: number;
  /** Index of the event or object change inside the transaction, from 0. */
  readonly index: number;
};

type Common = Position & {
  /** Canonical type of the event or object, with parameters. */
  readonly type: string;
  /** `module::Name` of the type; pipelines select by it. */
  readonly name: string;
  /** First type parameter, canonical: the security's coin type; null when absent. */
  readonly coinType: string | null;
  /** Base58 digest of the transaction. */
  readonly txDigest: string;
  /** Signer of the transaction. */
  readonly sender: string;
  /** Time of the checkpoint, Unix ms. */
  readonly timestampMs: bigint;
};

export type EventFact = Common & { readonly kind: "event"; readonly contents: Uint8Array };

/** An object's state after a transaction. */
export type ObjectFact = Common & {
  readonly kind: "object";
  readonly objectId: string;
  readonly version: bigint;
  readonly contents: Uint8Array;
};

/** An object was deleted or wrapped. */
type RemovalFact = Common & {
  readonly kind: "removal";
  readonly objectId: string;
  /** Version before the transaction. */
  readonly version: bigint;
};

export type Fact = EventFact | ObjectFact | RemovalFact;

/** A fact from the ledger, with the version that the transaction took in. */
export type ReadFact =
  | EventFact
  | RemovalFact
  | (ObjectFact & {
      /** Null when the transaction created or unwrapped the object. */
      readonly versionBefore: bigint | null;
    });

/** Longest type in a row's key; a key has at most two, and an address. */
const MAX_KEY_TYPE = 1024;

/**
 * Whether a type fits a key: Postgres limits index entries to about 2700 bytes. Coin types are at
 * most 326 characters, unless they have type parameters. Anyone can publish metadata of a longer
 * type, which must not stop other facts: it is kept in the log and in no projection.
 */
export const isIndexable = (type: string): boolean => type.length <= MAX_KEY_TYPE;

/** The last checkpoint that a watermark covers. */
export type CheckpointMark = {
  readonly sequence: bigint;
  readonly digest: string;
  readonly timestampMs: bigint;
};

/** All facts of the checkpoints `first` to `last.sequence`, perhaps none: one transaction's. */
export type FactBatch = {
  readonly first: bigint;
  readonly last: CheckpointMark;
  /** In chain order: checkpoint, transaction, events before object changes. */
  readonly facts: readonly Fact[];
};

/** A version of the contract's package published while the log was read. */
export type JoinedPackage = Pick<Position, "checkpoint" | "transaction"> & {
  /** Canonical; types first defined by this version carry it. */
  readonly address: string;
};

/** Times and digests of consecutive checkpoints, ascending and packed (block.ts). */
export type Block = {
  /** Unix ms, 8 bytes big-endian per checkpoint. */
  readonly times: Uint8Array;
  /** 32 bytes per checkpoint. */
  readonly digests: Uint8Array;
};

/** A block with its first checkpoint. */
export type BlockPiece = Block & { readonly first: bigint };

export type AppendBatch = Omit<FactBatch, "facts"> & {
  readonly facts: readonly ReadFact[];
  /** Marks of checkpoints with facts, ascending: a batch that is read back can end at any. */
  readonly marks: readonly CheckpointMark[];
  /**
   * Time and digest of every checkpoint that was read, ascending; the last piece ends with `last`.
   */
  readonly blocks: readonly BlockPiece[];
  /**
   * Only the checkpoints in `blocks` were read: others have nothing of the contract. Without it
   * `blocks` leave no gap. Its checkpoints have a proof each, and those that end an epoch are among
   * them, as they name the committees.
   */
  readonly guided?: boolean | undefined;
  /** Packages whose facts are kept from their publication in this batch on, in chain order. */
  readonly joined?: readonly JoinedPackage[];
  /** Proofs of these checkpoints, ascending. */
  readonly proofs?: readonly StretchProof[];
  /** Committees new to the log. */
  readonly committees?: readonly LogCommittee[];
};

/** The validators' signature on the last checkpoint of a stretch. */
export type StretchProof = {
  readonly firstCheckpoint: bigint;
  readonly lastCheckpoint: bigint;
  readonly epoch: bigint;
  /** BCS of the last checkpoint's summary. */
  readonly summary: Uint8Array;
  /** 48 bytes, and the roaring bitmap of signers. */
  readonly signature: Uint8Array;
  readonly signers: Uint8Array;
};

export type LogCommittee = {
  readonly epoch: bigint;
  /** Per member, ordered by key: BLS key (96 bytes) and stake (8 bytes big-endian). */
  readonly members: Uint8Array;
  /** The checkpoint that names it; null when trusted. */
  readonly namedBy: bigint | null;
};

/** Decimals of a coin from a metadata object on the ledger. */
export type CoinDecimals = { readonly coinType: string; readonly decimals: number };

/** A fact without its texts and contents. */
const OVERHEAD_BYTES = 200;

/** SQL form of `factBytes`, summed. */
export const SQL_FACT_BYTES = `
  sum(${OVERHEAD_BYTES} + length(type) + length(name) + coalesce(length(coin_type), 0) + length(tx_digest)
      + length(sender) + coalesce(length(object_id), 0) + coalesce(octet_length(contents), 0))::int8`;

/** Approximate memory of a fact in bytes, to bound batches and queues. Texts are ASCII. */
export const factBytes = (fact: Fact): number =>
  OVERHEAD_BYTES +
  fact.type.length +
  fact.name.length +
  (fact.coinType?.length ?? 0) +
  fact.txDigest.length +
  fact.sender.length +
  (fact.kind === "event" ? 0 : fact.objectId.length) +
  (fact.kind === "removal" ? 0 : fact.contents.length);
