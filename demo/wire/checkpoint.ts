import { Cursor } from "../../src/ledger/decode/cursor.ts";
import { digestOf } from "../../src/ledger/decode/digest.ts";
import { readEffects } from "../../src/ledger/decode/effects.ts";
import { ObjectSet, WrittenObjects } from "../../src/ledger/proof/object-set.ts";
import { ByteWriter } from "./byte-writer.ts";
import { Certificate, type Validator } from "./certificate.ts";
import { type GasCost, writeGasCost } from "./effects.ts";
import { encodeSignedTransaction } from "./transaction.ts";

export type StoredObject = {
  readonly id: string;
  readonly version: bigint;
  readonly digest: Uint8Array;
  /** BCS of `Object`. */
  readonly bytes: Uint8Array;
};

export type ExecutedTransaction = {
  readonly digest: Uint8Array;
  /** BCS of `TransactionData`. */
  readonly data: Uint8Array;
  /** Flag, signature and public key: 97 bytes each. */
  readonly signatures: readonly Uint8Array[];
  /** BCS of `TransactionEffects`. */
  readonly effects: Uint8Array;
  readonly effectsDigest: Uint8Array;
  /** BCS of `TransactionEvents`; null without events. */
  readonly events: Uint8Array | null;
  readonly eventsDigest: Uint8Array | null;
  /** Changed objects before it: by id, ascending. */
  readonly inputs: readonly StoredObject[];
  /** Written objects: changed, then new, each by id. */
  readonly outputs: readonly StoredObject[];
  /** Shared objects that it only read. */
  readonly reads: readonly StoredObject[];
};

/** `CheckpointSummary` before encoding. */
export type Summary = {
  readonly epoch: bigint;
  readonly sequence: bigint;
  /** The chain's transactions up to and including this checkpoint. */
  readonly networkTransactions: bigint;
  /** Null for the first checkpoint. */
  readonly previousDigest: Uint8Array | null;
  /** Cost of the epoch's transactions so far. */
  readonly epochGas: GasCost;
  readonly timestampMs: bigint;
  /** Null unless the checkpoint ends its epoch. */
  readonly endOfEpoch: EndOfEpoch | null;
  /** Whether it commits to the objects written, as since protocol 125. */
  readonly commits?: boolean;
};

/** `EndOfEpochData`. */
type EndOfEpoch = {
  /** Ordered by key. */
  readonly nextCommittee: readonly Validator[];
  readonly nextProtocolVersion: bigint;
};

/** An encoded checkpoint, enough for both formats. */
export type SealedCheckpoint = {
  readonly sequence: bigint;
  readonly timestampMs: bigint;
  readonly certificate: Certificate;
  /** BCS of `CheckpointSummary`, and its digest. */
  readonly summary: Uint8Array;
  readonly digest: Uint8Array;
  /** BCS of `CheckpointContents`, and its digest. */
  readonly contents: Uint8Array;
  readonly contentDigest: Uint8Array;
  readonly transactions: readonly ExecutedTransaction[];
};

/** Encodes and digests a checkpoint of these transactions, in this order. */
export const sealCheckpoint = (
  summary: Summary,
  committee: readonly Validator[],
  transactions: readonly ExecutedTransaction[],
): SealedCheckpoint => {
  const contents = new ByteWriter()
    .u8(0) // CheckpointContents::V1
    .list(transactions, (w, { digest, effectsDigest }) => w.bytes(digest).bytes(effectsDigest))
    .list(transactions, (w, { signatures }) => w.list(signatures, (v, bytes) => v.bytes(bytes)))
    .done();
  const contentDigest = digestOf("CheckpointContents", contents);
  const objectSet = summary.commits === true ? objectSetOf(transactions) : null;
  const bytes = encodeSummary(summary, contentDigest, objectSet);
  const digest = digestOf("CheckpointSummary", bytes);
  return {
    sequence: summary.sequence,
    timestampMs: summary.timestampMs,
    certificate: new Certificate(summary.epoch, committee, { summary: bytes, digest }),
    summary: bytes,
    digest,
    contents,
    contentDigest,
    transactions,
  };
};

const objectSetOf = (transactions: readonly ExecutedTransaction[]): Uint8Array => {
  const written = new WrittenObjects();
  for (const { effects } of transactions) {
    const cursor = new Cursor(effects, null);
    written.add(cursor, readEffects(cursor));
  }
  return new ObjectSet(written.objects.values()).commitment;
};

const encodeSummary = (
  summary: Summary,
  contentDigest: Uint8Array,
  objectSet: Uint8Array | null,
): Uint8Array => {
  const writer = new ByteWriter()
    .u64(summary.epoch)
    .u64(summary.sequence)
    .u64(summary.networkTransactions)
    .bytes(contentDigest)
    .option(summary.previousDigest, (w, digest) => w.bytes(digest));
  return writeGasCost(writer, summary.epochGas)
    .u64(summary.timestampMs)
    .list(objectSet === null ? [] : [objectSet], (w, digest) => w.u8(1).bytes(digest))
    .option(
      summary.endOfEpoch,
      (w, { nextCommittee, nextProtocolVersion }) =>
        w
          .list(nextCommittee, (v, { publicKey, stake }) => v.bytes(publicKey).u64(stake))
          .u64(nextProtocolVersion)
          .uleb(0), // commitments to the live objects: none
    )
    .bytes(Uint8Array.of(0, 0)) // version-specific data V1: no randomness rounds
    .done();
};

/** BCS of `CheckpointData`: a `.chk` file after its first byte. */
export const encodeCheckpointData = (checkpoint: SealedCheckpoint): Uint8Array => {
  const { certificate } = checkpoint;
  return new ByteWriter()
    .raw(checkpoint.summary)
    .u64(certificate.epoch)
    .raw(certificate.signature)
    .bytes(certificate.signers)
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
