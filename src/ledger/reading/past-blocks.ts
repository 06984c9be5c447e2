/**
 * Fills in the times and digests of checkpoints that were read before the log kept those of all
 * checkpoints: from the source, by summaries alone, beside the reading of new ones.
 *
 * Every checkpoint must name the digest of the one before it, and the last one must be the one that the
 * log knows. The source is asked for that one first: a source of another chain then fills in nothing.
 */
import { setImmediate as turn } from "node:timers/promises";
import { databaseRemedy, type Session } from "../../database/connect.ts";
import { BLOCK_CHECKPOINTS, type BlockBuilder, createBlockBuilder } from "../../log/block.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import {
  fillIn,
  OtherCheckpointError,
  type PastStretch,
  pastStretch,
} from "../../log/past-blocks.ts";
import { type Backoff, pause } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointRange, CheckpointSource } from "../sources/source.ts";
import {
  CheckpointChainError,
  CheckpointOutOfOrderError,
  LONGEST_STRETCH_MS,
  SourceEndedError,
} from "./pass.ts";
import type { CheckpointPlace } from "./read.ts";

export type PastBlocks = {
  readonly source: CheckpointSource;
  /** The session that holds the reader's lock. */
  readonly on: Session;
  readonly readPlace: (raw: RawCheckpoint) => CheckpointPlace;
  /** Whether new checkpoints are waiting to be read: they come first. */
  readonly isBehind: () => boolean;
  /** Between attempts; after what will not pass by itself, its longest pause. */
  readonly backoff: Backoff;
  readonly onNotice: (message: string, error?: unknown) => void;
};

/** Checkpoints asked for at a time: at the head of the chain, and while reading is behind it. */
const AT_ONCE = 16;
const AT_ONCE_BEHIND = 2;

/** Rest after each stretch of work while reading is behind, milliseconds: a tenth of the time is ours. */
const REST_MS = 9 * LONGEST_STRETCH_MS;

/** A block that takes longer is written as far as it came, milliseconds: so much a restart may lose. */
const LONGEST_BLOCK_MS = 30_000;

/** A source that gives nothing for this long is asked again, milliseconds: some wait for what never comes. */
const LONGEST_SILENCE_MS = 120_000;

/**
 * Fills in what is left, and returns when nothing is, or when `signal` aborts. Never rejects: failures
 * go to `onNotice` and are tried again.
 */
export const fillPastBlocks = async (past: PastBlocks, signal: AbortSignal): Promise<void> => {
  const { backoff, onNotice } = past;
  let told = false;
  const attempt = async (progressed: () => void): Promise<void> => {
    let left = await pastStretch(past.on.sql);
    if (left === null) return;
    const { next, last } = left;
    if (!told) onNotice(`learning the times of checkpoints ${next} to ${last} in the background`);
    told = true;
    const lastDigest = await digestOfLast(past, left, signal);
    while (left.next <= last && !signal.aborted) {
      const builder = createBlockBuilder();
      try {
        await gather(past, { ...left, lastDigest }, builder, signal);
      } finally {
        // What came before an error, or before the end of this process, is kept.
        if (builder.count > 0) left = await fillIn(past.on, left, builder.packed());
      }
      progressed();
    }
    if (left.next > last) onNotice(`the times of checkpoints up to ${last} are known now`);
  };
  await retrying(
    attempt,
    {
      backoff,
      // Reading goes on without them; another source, or an operator, may help later.
      remedy: () => "retry",
      leastMs: (error) => (databaseRemedy(error) === "stop" ? backoff.maxMs : 0),
      onTrouble: (error, pauseMs) =>
        onNotice(`could not learn the times of earlier checkpoints; again in ${pauseMs} ms`, error),
    },
    signal,
  );
};

/**
 * The digest that the last checkpoint to fill in must have.
 * @throws OtherCheckpointError (stop) when the source is of another chain than the log
 */
const digestOfLast = async (
  { source, readPlace }: PastBlocks,
  { last, known }: PastStretch,
  signal: AbortSignal,
): Promise<string> => {
  const { sequence, digest } = known;
  for await (const raw of given(source, { first: sequence, last: sequence }, signal)) {
    const place = readPlace(raw);
    if (place.mark.digest !== digest) throw new OtherCheckpointError(place.mark, digest);
    if (sequence === last) return digest;
    // Of the summary that has this digest, so it is as certain.
    if (place.previousDigest !== null) return place.previousDigest;
  }
  throw new SourceEndedError(source.description, sequence);
};

/** The stretch, and the digest it must end with. */
type Ending = PastStretch & { readonly lastDigest: string };

/**
 * Reads the next block into `builder`. A checkpoint is added when the one after it has named its digest, so
 * that what is in there is right also when an error is thrown; the last one of all is the one that is known.
 */
const gather = async (
  { source, readPlace, isBehind }: PastBlocks,
  { next, last: end, previousDigest, lastDigest }: Ending,
  builder: BlockBuilder,
  signal: AbortSignal,
): Promise<void> => {
  const beyond = next + BigInt(BLOCK_CHECKPOINTS);
  const last = beyond < end ? beyond : end;
  const atOnce = isBehind() ? AT_ONCE_BEHIND : AT_ONCE;
  const startedAt = performance.now();
  let stretchFrom = startedAt;
  let expected = next;
  let unnamed: CheckpointMark | null = null;
  for await (const raw of given(source, { first: next, last, atOnce }, signal)) {
    if (raw.sequence !== expected) {
      throw new CheckpointOutOfOrderError(source.description, expected, raw.sequence);
    }
    const place = readPlace(raw);
    const before: string | null = unnamed?.digest ?? previousDigest;
    if (before !== null && place.previousDigest !== before) {
      throw new CheckpointChainError(source.description, place, before);
    }
    if (unnamed !== null) builder.add(unnamed);
    unnamed = place.mark;
    expected += 1n;
    const now = performance.now();
    if (now - startedAt > LONGEST_BLOCK_MS && builder.count > 0) return;
    if (now - stretchFrom > LONGEST_STRETCH_MS) {
      await (isBehind() ? pause(REST_MS, signal) : turn());
      stretchFrom = performance.now();
    }
  }
  if (expected <= last) {
    if (signal.aborted) return;
    throw new SourceEndedError(source.description, expected);
  }
  if (last < end || unnamed === null) return;
  if (unnamed.digest !== lastDigest) throw new OtherCheckpointError(unnamed, lastDigest);
  builder.add(unnamed);
};

/** What the source gives; ends early when it gives nothing for long. */
async function* given(
  source: CheckpointSource,
  range: CheckpointRange,
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  using own = followingAbort(signal);
  const silence = setTimeout(() => own.abort(), LONGEST_SILENCE_MS);
  try {
    for await (const raw of source.checkpoints(range, own.signal)) {
      silence.refresh();
      yield raw;
    }
  } finally {
    clearTimeout(silence);
  }
}
