/** The BCS encoding: one `CheckpointData`, as in a `.chk` file after its first byte. */

import type { Checkpoint, Transaction } from "./checkpoint.ts";
import type { Cursor } from "./cursor.ts";
import { readEffects } from "./effects.ts";
import { bytes, vector } from "./layout.ts";
import { type ObjectSpan, readObject } from "./object.ts";
import { ObjectIndex } from "./object-index.ts";
import {
  type ContentsEntry,
  readContents,
  readSequence,
  readSummary,
  skipCertificate,
} from "./summary.ts";
import { type Reading, readTransaction, type Span } from "./transaction.ts";
import { readTransactionData } from "./transaction-data.ts";
import { skipStructTag } from "./type-tag.ts";

export const readDataSequence = (cursor: Cursor): bigint => readSequence(cursor);

export const readCheckpointData = (cursor: Cursor, reading: Reading): Checkpoint => {
  const { header, contentDigestAt } = readSummary(cursor);
  skipCertificate(cursor);
  const start = cursor.at;
  const contents = readContents(cursor);
  reading.verifier.claim(cursor, {
    of: "CheckpointContents",
    transaction: null,
    start,
    end: cursor.at,
    expectedAt: contentDigestAt,
  });
  const at = cursor.at;
  const count = cursor.length();
  if (count !== contents.length) {
    cursor.fail(`${count} transactions where the contents name ${contents.length}`, at);
  }
  const transactions: Transaction[] = contents.map((entry, index) =>
    readCheckpointTransaction(cursor, index, entry, reading),
  );
  cursor.finish("the checkpoint");
  return { ...header, transactions };
};

const readCheckpointTransaction = (
  cursor: Cursor,
  index: number,
  entry: ContentsEntry,
  reading: Reading,
): Transaction => {
  const { data, senderAt } = readSignedData(cursor);
  const effectsStart = cursor.at;
  const effects = readEffects(cursor);
  const effectsSpan = { start: effectsStart, end: cursor.at };
  const events = cursor.option() ? skipEvents(cursor) : null;
  const inputs = new ObjectIndex(cursor, readObjects(cursor));
  const outputs = new ObjectIndex(cursor, readObjects(cursor));
  if (outputs.size !== effects.writes.length) {
    cursor.fail(
      `transaction ${index} has ${outputs.size} output objects, its effects name ${effects.writes.length}`,
    );
  }
  const parts = { index, entry, data, senderAt, effects, effectsSpan, events, inputs, outputs };
  return readTransaction(cursor, parts, reading);
};

/** `SenderSignedData`: a vector of one: intent, transaction data, signatures. */
const readSignedData = (cursor: Cursor): { data: Span; senderAt: number } => {
  const at = cursor.at;
  const count = cursor.length();
  if (count !== 1) cursor.fail(`one signed transaction expected, found ${count}`, at);
  // Scope "transaction data", version 0, application "Sui".
  for (let i = 0; i < 3; i++) cursor.variant("Intent", 1);
  const start = cursor.at;
  const senderAt = readTransactionData(cursor);
  const data = { start, end: cursor.at };
  skipSignatures(cursor);
  return { data, senderAt };
};

const skipSignatures = vector(bytes);

const skipEvents = (cursor: Cursor): Span => {
  const start = cursor.at;
  for (let left = cursor.length(); left > 0; left--) {
    cursor.skip(32);
    cursor.skipBytes();
    cursor.skip(32);
    skipStructTag(cursor);
    cursor.skipBytes();
  }
  return { start, end: cursor.at };
};

const readObjects = (cursor: Cursor): readonly ObjectSpan[] => {
  const spans: ObjectSpan[] = [];
  for (let left = cursor.length(); left > 0; left--) spans.push(readObject(cursor));
  return spans;
};
