/**
 * Fills in times and digests of checkpoints read by an older version, from their summaries.
 *
 * Each must name the previous digest and the last must match the log; it is fetched first, so that
 * another chain's source fills in nothing.
 */

import { BLOCK_CHECKPOINTS, type BlockBuilder, createBlockBuilder } from "../../log/block.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import {
  fillIn,
  OtherCheckpointError,
  type PastStretch,
  pastStretch,
} from "../../log/past-blocks.ts";
import { lowest } from "../../values/bigints.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { type Backfill, given, LONGEST_UNWRITTEN_MS, runBackfill } from "./backfill.ts";
import { CheckpointChainError, CheckpointOutOfOrderError, SourceEndedError } from "./pass.ts";
import type { CheckpointPlace } from "./read.ts";

type PastBlocks = Backfill & {
  readonly readPlace: (raw: RawCheckpoint) => CheckpointPlace;
};

/** Returns when nothing is left or `signal` aborts. Never rejects. */
export const fillPastBlocks = (past: PastBlocks, signal: AbortSignal): Promise<void> =>
  runBackfill(
    past,
    {
      noun: "the times",
      left: pastStretch,
      begin: async (stretch) => {
        const lastDigest = await digestOfLast(past, stretch, signal);
        return async (left) => {
          const builder = createBlockBuilder();
          try {
            await gather(past, { ...left, lastDigest }, builder, signal);
          } finally {
            if (builder.count > 0) await fillIn(past.on, left, builder.packed());
          }
        };
      },
    },
    signal,
  );

/** @throws OtherCheckpointError (stop) when the source is of another chain */
const digestOfLast = async (
  past: PastBlocks,
  { last, known }: PastStretch,
  signal: AbortSignal,
): Promise<string> => {
  const { sequence, digest } = known;
  for await (const raw of given(past, { first: sequence, last: sequence }, signal)) {
    const place = past.readPlace(raw);
    if (place.mark.digest !== digest) throw new OtherCheckpointError(place.mark, digest);
    if (sequence === last) return digest;
    // As certain as the summary that names it.
    if (place.previousDigest !== null) return place.previousDigest;
  }
  throw new SourceEndedError(past.source.description, sequence);
};

/** The stretch and its last digest. */
type Ending = PastStretch & { readonly lastDigest: string };

/**
 * Reads the next block into `builder`. A checkpoint is added once the next one names it, so the
 * block is correct even after an error; the last one is known.
 */
const gather = async (
  past: PastBlocks,
  { next, last: end, previousDigest, lastDigest }: Ending,
  builder: BlockBuilder,
  signal: AbortSignal,
): Promise<void> => {
  const { source, readPlace } = past;
  const last = lowest(next + BigInt(BLOCK_CHECKPOINTS), end);
  const startedAt = performance.now();
  let expected = next;
  let unnamed: CheckpointMark | null = null;
  for await (const raw of given(past, { first: next, last }, signal)) {
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
    if (performance.now() - startedAt > LONGEST_UNWRITTEN_MS && builder.count > 0) return;
  }
  if (expected <= last) {
    if (signal.aborted) return;
    throw new SourceEndedError(source.description, expected);
  }
  if (last < end || unnamed === null) return;
  if (unnamed.digest !== lastDigest) throw new OtherCheckpointError(unnamed, lastDigest);
  builder.add(unnamed);
};
