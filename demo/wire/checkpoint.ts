import { digestOf } from "../../src/ledger/decode/digest.ts";
import { ByteWriter } from "./byte-writer.ts";
import { hash } from "./digest.ts";
import { type GasCost, writeGasCost } from "./effects.ts";
import { encodeSignedTransaction } from "./transaction.ts";

/** One version of an object, encoded. */
export type StoredObject = {
  readonly id: string;
  readonly version: bigint;
  readonly digest: Uint8Array;
  /** BCS of `Object`. */
  readonly bytes: Uint8Array;
};

/** An executed transaction, every part encoded. */
export type ExecutedTransaction = {
  readonly digest: Uint8Array;
  /** BCS of `TransactionData`. */
  readonly data: Uint8Array;
  /** Flag, signature and public key: 97 bytes each. */
  readonly signatures: readonly Uint8Array[];
  /** BCS of `TransactionEffects`. */
  readonly effects: Uint8Array;
  readonly effectsDigest: Uint8Array;
  /** BCS of `TransactionEvents`; null when it emitted none. */
  readonly events: Uint8Array | null;
  readonly eventsDigest: Uint8Array | null;
  /** Objects as they stood before it, those it changed: by id, ascending. */
  readonly inputs: readonly StoredObject[];
  /** Objects it left behind: changed ones, then new ones, each by id. */
  readonly outputs: readonly StoredObject[];
  /** Shared objects it only read. */
  readonly reads: readonly StoredObject[];
};

/** `CheckpointSummary` before it is encoded. */
export type Summary = {
  readonly epoch: bigint;
  readonly sequence: bigint;
  /** Transactions of the chain up to and including this checkpoint. */
  readonly networkTransactions: bigint;
  /** Digest of the checkpoint before; null for the first. */
  readonly previousDigest: Uint8Array | null;
  /** Cost of all transactions of the epoch so far. */
  readonly epochGas: GasCost;
  readonly timestampMs: bigint;
};

/** A checkpoint, every part encoded; enough for both file formats. */
export type SealedCheckpoint = {
  readonly sequence: bigint;
  readonly epoch: bigint;
  readonly timestampMs: bigint;
  /** BCS of `CheckpointSummary` and its digest. */
  readonly summary: Uint8Array;
  readonly digest: Uint8Array;
  /** BCS of `CheckpointContents` and its digest. */
  readonly contents: Uint8Array;
  readonly contentDigest: Uint8Array;
  readonly transactions: readonly ExecutedTransaction[];
};

/** Encodes and digests a checkpoint of these transactions, in this order. */
export const sealCheckpoint = (
  summary: Summary,
  transactions: readonly ExecutedTransaction[],
): SealedCheckpoint => {
  const contents = new ByteWriter()
    .u8(0) // CheckpointContents::V1
    .list(transactions, (w, { digest, effectsDigest }) => w.bytes(digest).bytes(effectsDigest))
    .list(transactions, (w, { signatures }) => w.list(signatures, (v, bytes) => v.bytes(bytes)))
    .done();
  const contentDigest = digestOf("CheckpointContents", contents);
  const bytes = encodeSummary(summary, contentDigest);
  return {
    sequence: summary.sequence,
    epoch: summary.epoch,
    timestampMs: summary.timestampMs,
    summary: bytes,
    digest: digestOf("CheckpointSummary", bytes),
    contents,
    contentDigest,
    transactions,
  };
};

const encodeSummary = (summary: Summary, contentDigest: Uint8Array): Uint8Array => {
  const writer = new ByteWriter()
    .u64(summary.epoch)
    .u64(summary.sequence)
    .u64(summary.networkTransactions)
    .bytes(contentDigest)
    .option(summary.previousDigest, (w, digest) => w.bytes(digest));
  return writeGasCost(writer, summary.epochGas)
    .u64(summary.timestampMs)
    .uleb(0) // checkpoint commitments
    .u8(0) // end of epoch: no
    .bytes(Uint8Array.of(0, 0)) // version-specific data V1: no randomness rounds
    .done();
};

/** The committee's signature over a checkpoint. */
export type QuorumSignature = {
  readonly epoch: bigint;
  readonly signature: Uint8Array;
  readonly signers: Uint8Array;
};

/** Four validators, of which three sign. */
const SIGNERS = [0, 1, 2];

/**
 * A committee signature that is right in form only: a compressed point of 48 bytes made from the
 * digest, and the bitmap of the signers. Nothing here signs with BLS keys: a verifier of committee
 * signatures refuses the demo ledger.
 */
export const quorumSignature = (checkpoint: SealedCheckpoint): QuorumSignature => {
  const signature = new Uint8Array(48);
  signature.set(hash(checkpoint.digest), 0);
  signature.set(hash(checkpoint.digest, checkpoint.contentDigest).subarray(0, 16), 32);
  // Compressed, not the point at infinity, and below the modulus of the field.
  signature[0] = ((signature[0] ?? 0) & 0x0f) | 0x80;
  return { epoch: checkpoint.epoch, signature, signers: roaringBitmap(SIGNERS) };
};

/** A set of small numbers, serialised as a Roaring bitmap with one array container. */
const roaringBitmap = (values: readonly number[]): Uint8Array => {
  const writer = new ByteWriter()
    .u32(12_346) // cookie: no run containers
    .u32(1) // one container
    .u16(0) // its key: the upper 16 bits
    .u16(values.length - 1)
    .u32(16); // where its values start
  for (const value of values) writer.u16(value);
  return writer.done();
};

/** BCS of `CheckpointData`: what a `.chk` file holds after its first byte. */
export const encodeCheckpointData = (checkpoint: SealedCheckpoint): Uint8Array => {
  const quorum = quorumSignature(checkpoint);
  return new ByteWriter()
    .raw(checkpoint.summary)
    .u64(quorum.epoch)
    .raw(quorum.signature)
    .bytes(quorum.signers)
    .raw(checkpoint.contents)
    .list(checkpoint.transactions, (w, transaction) =>
      w
        .raw(encodeSignedTransaction(transaction.data, transaction.signatures))
        .raw(transaction.effects)
        .option(transaction.events, (v, events) => v.raw(events))
        .list(transaction.inputs, (v, object) => v.raw(object.bytes))
        .list(transaction.outputs, (v, object) => v.raw(object.bytes)),
    )
    .done();
};
