import type { Checkpoint, CheckpointHeader, Encoding, RawCheckpoint } from "./checkpoint.ts";
import { readCheckpointData, readDataSequence } from "./checkpoint-data.ts";
import { Cursor } from "./cursor.ts";
import type { Wanted } from "./events.ts";
import { readCheckpointMessage, readMessageSequence, skimCheckpointMessage } from "./protobuf.ts";
import type { Reading } from "./transaction.ts";
import { refusing, type Verifier } from "./verify.ts";

export type { Wanted } from "./events.ts";
export type { TypeHead } from "./type-tag.ts";

/**
 * Decodes a checkpoint. Both encodings of the same checkpoint give equal values.
 *
 * What is returned is what the checkpoint's summary commits to: the digests of contents,
 * transactions, effects, events and written and removed objects are recomputed, so that a changed bit in any of
 * them is an error and not a wrong value. (Removed objects of effects V1, before 2024, carry no
 * digest. The validators' signature on the summary is not verified.)
 *
 * @param wanted tells by the head of a type whether its events and objects are wanted; the others are
 *   left out, and so are checks of objects that are part of no value. Without it everything is read
 *   and checked.
 * @param verifier what is done with digests, where another than that
 * @throws CheckpointDecodeError (retry) whatever is wrong with the bytes; nothing is returned then
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

/** Decodes with a verifier of one's own: to report contradictions instead of refusing them. */
export const decodeWith = (raw: RawCheckpoint, verifier: Verifier): Checkpoint =>
  readCheckpoint(new Cursor(raw.bytes, raw.sequence), raw.encoding, {
    wanted: undefined,
    verifier,
  });

/**
 * Decodes an excerpt: a protobuf checkpoint of which transactions may be left out. Those say nothing; what
 * is there is claimed to the verifier.
 * @throws CheckpointDecodeError (retry)
 */
export const decodeExcerpt = (
  { sequence, bytes }: Pick<RawCheckpoint, "sequence" | "bytes">,
  wanted: Wanted,
  verifier: Verifier,
): Checkpoint =>
  readCheckpointMessage(new Cursor(bytes, sequence), { wanted, verifier, isExcerpt: true });

/**
 * Reads the header of a checkpoint that holds nothing wanted, and makes sure that it is whole: a cut-off
 * checkpoint might have held something in the part that is missing. Digests are checked down to the
 * contents; what transactions hold is walked (BCS) or stepped over by its length (protobuf).
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

/**
 * The number a checkpoint's summary gives itself, for bytes of unknown origin.
 * @throws CheckpointDecodeError (retry)
 */
export const readSequenceOf = (encoding: Encoding, bytes: Uint8Array): bigint => {
  const cursor = new Cursor(bytes, null);
  return encoding === "bcs" ? readDataSequence(cursor) : readMessageSequence(cursor);
};

/** Believes every digest. */
export const believing: Verifier = { inputs: false, claim: () => {} };

const whole = refusing(true);
const facts = refusing(false);
/** Checks the contents and leaves what they name unread. */
const outline: Verifier = {
  inputs: false,
  claim: (cursor, claim) => {
    if (claim.of === "CheckpointContents") facts.claim(cursor, claim);
  },
};

const readCheckpoint = (cursor: Cursor, encoding: Encoding, reading: Reading): Checkpoint =>
  encoding === "bcs" ? readCheckpointData(cursor, reading) : readCheckpointMessage(cursor, reading);
