/** Packed times and digests of consecutive checkpoints, 40 bytes each: a chain has millions. */

import { Buffer } from "node:buffer";
import { base58, readBase58 } from "../values/base58.ts";
import type { Block, BlockPiece, CheckpointMark } from "./fact.ts";
import type { logBlocks } from "./tables.ts";

const TIME_BYTES = 8;
const DIGEST_BYTES = 32;

/** Maximum checkpoints of a row, all of which a look-up by time reads. */
export const BLOCK_CHECKPOINTS = 4_096;

export type BlockBuilder = {
  readonly count: number;
  /** @throws Base58Error (stop) on an invalid digest */
  add(mark: CheckpointMark): void;
  packed(): Block;
};

export const createBlockBuilder = (): BlockBuilder => {
  let count = 0;
  // At the chain's tip a block has one checkpoint.
  let room = 1;
  let times = Buffer.alloc(room * TIME_BYTES);
  let digests = Buffer.alloc(room * DIGEST_BYTES);

  const grow = () => {
    room *= 2;
    times = Buffer.concat([times], room * TIME_BYTES);
    digests = Buffer.concat([digests], room * DIGEST_BYTES);
  };

  return {
    get count() {
      return count;
    },
    add: ({ digest, timestampMs }) => {
      if (count === room) grow();
      times.writeBigUInt64BE(timestampMs, count * TIME_BYTES);
      readBase58(digest, digests, count * DIGEST_BYTES);
      count += 1;
    },
    packed: () => ({
      times: times.subarray(0, count * TIME_BYTES),
      digests: digests.subarray(0, count * DIGEST_BYTES),
    }),
  };
};

/** Number of checkpoints; null when times and digests disagree. */
export const countOf = ({ times, digests }: Block): number | null => {
  const count = times.length / TIME_BYTES;
  return Number.isInteger(count) && digests.length === count * DIGEST_BYTES ? count : null;
};

/** A checkpoint of the block that begins with `first`. */
export const markAt = (
  first: bigint,
  { times, digests }: Block,
  index: number,
): CheckpointMark => ({
  sequence: first + BigInt(index),
  timestampMs: timeAt(times, index),
  digest: base58(digests, index * DIGEST_BYTES),
});

/** Runs of these ascending checkpoints. */
export const piecesOf = (marks: Iterable<CheckpointMark>): readonly BlockPiece[] => {
  const pieces: { readonly first: bigint; readonly builder: BlockBuilder }[] = [];
  for (const mark of marks) {
    let last = pieces.at(-1);
    if (last === undefined || last.first + BigInt(last.builder.count) !== mark.sequence) {
      last = { first: mark.sequence, builder: createBlockBuilder() };
      pieces.push(last);
    }
    last.builder.add(mark);
  }
  return pieces.map(({ first, builder }) => ({ first, ...builder.packed() }));
};

/** A checkpoint of these ascending pieces; null when none has it. */
export const markIn = (
  pieces: readonly BlockPiece[],
  checkpoint: bigint,
): CheckpointMark | null => {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle]?.first ?? 0n) <= checkpoint) low = middle + 1;
    else high = middle;
  }
  const piece = pieces[low - 1];
  if (piece === undefined || checkpoint >= nextAfter(piece)) return null;
  return markAt(piece.first, piece, Number(checkpoint - piece.first));
};

/** The checkpoint after a piece. */
export const nextAfter = (piece: BlockPiece): bigint => piece.first + BigInt(countOf(piece) ?? 0);

/** Index of the first time of at least `leastMs`; -1 without one. */
export const firstReaching = (times: Uint8Array, leastMs: bigint): number => {
  for (let index = 0; index < times.length / TIME_BYTES; index += 1) {
    if (timeAt(times, index) >= leastMs) return index;
  }
  return -1;
};

const timeAt = (times: Uint8Array, index: number): bigint =>
  Buffer.from(times.buffer, times.byteOffset, times.byteLength).readBigUInt64BE(index * TIME_BYTES);

/**
 * Rows of these pieces.
 * @param reachedMs latest known time before them
 */
export const blockRows = (
  pieces: readonly BlockPiece[],
  { reachedMs, filled }: { readonly reachedMs: bigint; readonly filled: boolean },
): (typeof logBlocks.$inferSelect)[] => {
  const rows: (typeof logBlocks.$inferSelect)[] = [];
  let reached = reachedMs;
  for (const { first, ...block } of pieces) {
    const total = block.times.length / TIME_BYTES;
    for (let at = 0; at < total; at += BLOCK_CHECKPOINTS) {
      const end = Math.min(at + BLOCK_CHECKPOINTS, total);
      const times = block.times.subarray(at * TIME_BYTES, end * TIME_BYTES);
      reached = latestOf(times, reached);
      rows.push({
        firstCheckpoint: first + BigInt(at),
        count: end - at,
        times,
        digests: block.digests.subarray(at * DIGEST_BYTES, end * DIGEST_BYTES),
        reachedMs: reached,
        filled,
      });
    }
  }
  return rows;
};

export const latestOf = (times: Uint8Array, before: bigint): bigint => {
  let latest = before;
  for (let index = 0; index < times.length / TIME_BYTES; index += 1) {
    const time = timeAt(times, index);
    if (time > latest) latest = time;
  }
  return latest;
};
