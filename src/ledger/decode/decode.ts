import type { Checkpoint, CheckpointHeader, Encoding, RawCheckpoint } from "./checkpoint.ts";
import { readCheckpointData, readDataSequence } from "./checkpoint-data.ts";
import { Cursor } from "./cursor.ts";
import { readCheckpointMessage, readMessageSequence, skimCheckpointMessage } from "./protobuf.ts";
import type { Reading, Wanted } from "./transaction.ts";
import { refusing, type Verifier } from "./verify.ts";

export type { Wanted } from "./transaction.ts";
export type { TypeHead } from "./type-tag.ts";

/**
 * Decodes a checkpoint; both encodings give equal values.
 *
 * Recomputes the digests of contents, transactions, effects, events and objects written or removed,
 * so the result is what the summary commits to. (Removed objects of effects V1, before 2024, have
 * no digest; the validators' signature is not verified.)
 *
 * @param wanted filters events and objects by the head of their type; skipped objects are not
 * checked. All by default
 * @param verifier handles digests; refuses contradictions by default
 * @throws CheckpointDecodeError (retry)
 */
export const decodeCheckpoint = (
  raw: RawCheckpoint,
  wanted?: Wanted,
  verifier: Verifier = wanted === undefined ? whole : facts,
): Checkpoint =>
  readCheckpoint(new Cursor(raw.bytes, raw.sequence), raw.encoding, {
    wanted,
    verifier,
  });

/** Decodes with another verifier, to report contradictions instead of refusing them. */
export const decodeWith = (raw: RawCheckpoint, verifier: Verifier): Checkpoint =>
  readCheckpoint(new Cursor(raw.bytes, raw.sequence), raw.encoding, {
    wanted: undefined,
    verifier,
  });

/**
 * Decodes an excerpt: a protobuf checkpoint whose transactions may be empty.
 * @throws CheckpointDecodeError (retry)
 */
export const decodeExcerpt = (
  { sequence, bytes }: Pick<RawCheckpoint, "sequence" | "bytes">,
  wanted: Wanted,
  verifier: Verifier,
): Checkpoint =>
  readCheckpointMessage(new Cursor(bytes, sequence), { wanted, verifier, isExcerpt: true });

/**
 * Reads the header of a checkpoint with nothing wanted and makes sure that it is complete. Checks
 * digests down to the contents; walks transactions (BCS) or skips them by length (protobuf).
 * @throws CheckpointDecodeError (retry)
 */
export const skimCheckpoint = (
  raw: RawCheckpoint,
  verifier: Verifier = outline,
): CheckpointHeader => {
  const cursor = new Cursor(raw.bytes, raw.sequence);
  if (raw.encoding === "protobuf") return skimCheckpointMessage(cursor, verifier);
  const { transactions: _, ...header } = readCheckpointData(cursor, {
    wanted: () => false,
    verifier,
  });
  return header;
};

/** @throws CheckpointDecodeError (retry) */
export const readSequenceOf = (encoding: Encoding, bytes: Uint8Array): bigint => {
  const cursor = new Cursor(bytes, null);
  return encoding === "bcs" ? readDataSequence(cursor) : readMessageSequence(cursor);
};

/** Accepts every digest. */
export const noVerifier: Verifier = { inputs: false, claim: () => {} };

const whole = refusing(true);
const facts = refusing(false);
/** Checks only the contents. */
const outline: Verifier = {
  inputs: false,
  claim: (cursor, claim) => {
    if (claim.of === "CheckpointContents") facts.claim(cursor, claim);
  },
};

const readCheckpoint = (cursor: Cursor, encoding: Encoding, reading: Reading): Checkpoint =>
  encoding === "bcs" ? readCheckpointData(cursor, reading) : readCheckpointMessage(cursor, reading);
