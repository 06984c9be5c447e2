/**
 * The protobuf encoding: `sui.rpc.v2.Checkpoint`, as object store and gRPC deliver it. Only the BCS
 * of its parts is read: digests cover BCS, and both encodings share a decoder.
 */

import type { Checkpoint, CheckpointHeader, Transaction } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import { readEffects } from "./effects.ts";
import { type ObjectSpan, readObject } from "./object.ts";
import { ObjectIndex } from "./object-index.ts";
import {
  type ContentsEntry,
  readContents,
  readSequence,
  readSummary,
  type Summary,
} from "./summary.ts";
import { type Reading, readTransaction, type Span } from "./transaction.ts";
import { readTransactionData } from "./transaction-data.ts";
import type { Verifier } from "./verify.ts";
import { Fields, findPart, varintAt } from "./wire.ts";

/** The gRPC read mask: exactly what is read here. */
export const CHECKPOINT_READ_MASK: readonly string[] = [
  "sequence_number",
  "digest",
  "summary.bcs",
  "contents.bcs",
  "transactions.transaction.bcs",
  "transactions.effects.bcs",
  "transactions.events.bcs",
  "objects.objects.bcs",
];

/** Also needed to verify signatures. */
export const CERTIFICATE_READ_MASK = "signature";

/** Field numbers of `sui.rpc.v2.Checkpoint`. */
const SEQUENCE_NUMBER = 1;
const DIGEST = 2;
const SUMMARY = 3;
const SIGNATURE = 4;
const CONTENTS = 5;
const TRANSACTIONS = 6;
const OBJECTS = 7;
/** In `ExecutedTransaction`. */
const TRANSACTION = 2;
const EFFECTS = 4;
const EVENTS = 5;
/** `bcs` of a part; `value` of `Bcs`; `objects` of `ObjectSet`. */
const BCS = 1;
const BCS_VALUE = 2;
const OBJECT_SET_OBJECTS = 1;

/** Locations of a checkpoint message's parts. */
type Parts = {
  sequence: Span | null;
  digest: Span | null;
  summary: Span | null;
  signature: Span | null;
  contents: Span | null;
  readonly transactions: Span[];
  objects: Span | null;
};

export const readMessageSequence = (cursor: Cursor): bigint => {
  const { start, end } = bcsOf(cursor, findParts(cursor).summary, () => "summary");
  cursor.at = start;
  cursor.end = end;
  return readSequence(cursor);
};

/**
 * Reads the header and checks that the message is complete: it ends at a field, has its summary's
 * contents, as many transactions as these name, and objects. Skips parts of transactions and
 * objects.
 */
export const skimCheckpointMessage = (cursor: Cursor, verifier: Verifier): CheckpointHeader =>
  readOutline(cursor, verifier).header;

export const readCheckpointMessage = (cursor: Cursor, reading: Reading): Checkpoint => {
  const { header, contents, parts } = readOutline(cursor, reading.verifier);
  const objects = new ObjectIndex(cursor, readObjectSet(cursor, parts.objects));
  const transactions: Transaction[] = contents.map((entry, index) => {
    const span = parts.transactions[index] ?? cursor.fail(`transactions[${index}] is missing`);
    if (reading.isExcerpt && span.start === span.end) return leftOut(cursor, entry);
    return readExecuted(cursor, index, entry, span, objects, reading);
  });
  return { ...header, transactions };
};

/** Reads the summary and locates the validators' signature; null without one. */
export const readCertifiedMessage = (
  cursor: Cursor,
): { readonly summary: Summary; readonly signature: Span | null } => {
  const parts = findParts(cursor);
  return { summary: readMessageSummary(cursor, parts), signature: parts.signature };
};

/** A checkpoint message without the content of transactions and objects. */
type Outline = {
  readonly header: CheckpointHeader;
  readonly contents: readonly ContentsEntry[];
  readonly parts: Parts;
};

const readOutline = (cursor: Cursor, verifier: Verifier): Outline => {
  const parts = findParts(cursor);
  const { header, contentDigestAt } = readMessageSummary(cursor, parts);
  const span = bcsOf(cursor, parts.contents, () => "contents");
  const contents = cursor.part(() => "contents", span.start, span.end, readContents);
  verifier.claim(cursor, {
    of: "CheckpointContents",
    transaction: null,
    ...span,
    expectedAt: contentDigestAt,
  });
  const { length } = parts.transactions;
  if (length !== contents.length) {
    cursor.fail(`${length} transactions where the contents name ${contents.length}`, span.start);
  }
  if (length > 0 && parts.objects === null) cursor.fail("objects is missing");
  return { header, contents, parts };
};

const findParts = (cursor: Cursor): Parts => {
  const parts: Parts = {
    sequence: null,
    digest: null,
    summary: null,
    signature: null,
    contents: null,
    transactions: [],
    objects: null,
  };
  const fields = new Fields(cursor, { start: cursor.at, end: cursor.end });
  while (fields.next()) {
    switch (fields.number) {
      case SEQUENCE_NUMBER:
        parts.sequence = { start: fields.start, end: fields.end };
        break;
      case DIGEST:
        parts.digest = fields.only(parts.digest, () => "digest");
        break;
      case SUMMARY:
        parts.summary = fields.only(parts.summary, () => "summary");
        break;
      case SIGNATURE:
        parts.signature = fields.only(parts.signature, () => "signature");
        break;
      case CONTENTS:
        parts.contents = fields.only(parts.contents, () => "contents");
        break;
      case TRANSACTIONS:
        parts.transactions.push(fields.only(null, () => "transactions"));
        break;
      case OBJECTS:
        parts.objects = fields.only(parts.objects, () => "objects");
    }
  }
  return parts;
};

/** Reads the summary and checks the message's copies of its fields. */
const readMessageSummary = (cursor: Cursor, parts: Parts): Summary => {
  const { start, end } = bcsOf(cursor, parts.summary, () => "summary");
  const summary = cursor.part(() => "summary", start, end, readSummary);
  if (parts.sequence !== null && varintAt(cursor, parts.sequence) !== cursor.sequence) {
    cursor.fail("sequence_number differs from the summary's", parts.sequence.start);
  }
  const digest = parts.digest;
  if (digest !== null) {
    const claimed = cursor.bytes.toString("latin1", digest.start, digest.end);
    if (claimed !== summary.header.digest) {
      cursor.fail(`the summary has digest ${summary.header.digest}, not ${claimed}`, digest.start);
    }
  }
  return summary;
};

/** An excerpt's empty transaction. */
const leftOut = (cursor: Cursor, { transactionAt }: ContentsEntry): Transaction => ({
  digest: cursor.digestText(transactionAt),
  sender: "",
  events: [],
  outputObjects: [],
  packages: [],
  removedObjects: [],
});

const readExecuted = (
  cursor: Cursor,
  index: number,
  entry: ContentsEntry,
  span: Span,
  objects: ObjectIndex,
  reading: Reading,
): Transaction => {
  const dataPath = () => `transactions[${index}].transaction`;
  const effectsPath = () => `transactions[${index}].effects`;
  const eventsPath = () => `transactions[${index}].events`;
  const data = bcsOf(cursor, findPart(cursor, span, TRANSACTION, dataPath), dataPath);
  const effectsSpan = bcsOf(cursor, findPart(cursor, span, EFFECTS, effectsPath), effectsPath);
  const senderAt = cursor.part(() => "transaction data", data.start, data.end, readTransactionData);
  const effects = cursor.part(() => "effects", effectsSpan.start, effectsSpan.end, readEffects);
  const eventsPart = findPart(cursor, span, EVENTS, eventsPath);
  const events =
    eventsPart === null && effects.eventsAt === null ? null : bcsOf(cursor, eventsPart, eventsPath);
  return readTransaction(
    cursor,
    {
      index,
      entry,
      data,
      senderAt,
      effects,
      effectsSpan,
      events,
      inputs: objects,
      outputs: objects,
    },
    reading,
  );
};

/** Inputs and outputs of all transactions, each version once. */
const readObjectSet = (cursor: Cursor, set: Span | null): readonly ObjectSpan[] => {
  const spans: ObjectSpan[] = [];
  if (set === null) return spans;
  const path = () => `objects.objects[${spans.length}]`;
  const fields = new Fields(cursor, set);
  while (fields.next()) {
    if (fields.number !== OBJECT_SET_OBJECTS) continue;
    const { start, end } = bcsOf(cursor, fields.only(null, path), path);
    spans.push(cursor.part(path, start, end, readObject));
  }
  return spans;
};

/**
 * The bytes of `<path>.bcs.value`.
 * @throws CheckpointDecodeError naming a missing part
 */
const bcsOf = (cursor: Cursor, part: Span | null, path: () => string): Span => {
  const bcs = part === null ? null : findPart(cursor, part, BCS, () => `${path()}.bcs`);
  const value = bcs === null ? null : findPart(cursor, bcs, BCS_VALUE, () => `${path()}.bcs.value`);
  return value ?? cursor.fail(`${path()}.bcs is missing`, part?.start ?? cursor.at);
};
