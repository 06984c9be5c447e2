/**
 * Times and digests of consecutive checkpoints, packed: 40 bytes each, in memory and in the database.
 * A batch while the reader catches up has ten thousand of them, and the chain hundreds of millions.
 */

import { Buffer } from "node:buffer";
import { base58, readBase58 } from "../values/base58.ts";
import type { Block, CheckpointMark } from "./fact.ts";
import type { logBlocks } from "./tables.ts";

const TIME_BYTES = 8;
const DIGEST_BYTES = 32;

/** Most checkpoints of a row: what a look-up by time reads through. */
export const BLOCK_CHECKPOINTS = 4_096;

/** A block while it grows. */
export type BlockBuilder = {
  /** Of checkpoints. */
  readonly count: number;
  /**
   * Adds the next checkpoint.
   * @throws Base58Error (stop) when its digest is none
   */
  add(mark: CheckpointMark): void;
  /** What was added so far. */
  packed(): Block;
};

export const createBlockBuilder = (): BlockBuilder => {
  let count = 0;
  // At the tip of the chain a block has one checkpoint.
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

/** How many checkpoints a block has; null when times and digests do not agree. */
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

/** Index of the first time that is not below `leastMs`; -1 when all are below. */
export const firstReaching = (times: Uint8Array, leastMs: bigint): number => {
  for (let index = 0; index < times.length / TIME_BYTES; index += 1) {
    if (timeAt(times, index) >= leastMs) return index;
  }
  return -1;
};

const timeAt = (times: Uint8Array, index: number): bigint =>
  Buffer.from(times.buffer, times.byteOffset, times.byteLength).readBigUInt64BE(index * TIME_BYTES);

/**
 * The rows of a block that begins with `first`.
 * @param reachedMs the latest time before it, as far as known here
 */
export const blockRows = (
  first: bigint,
  block: Block,
  { reachedMs, filled }: { readonly reachedMs: bigint; readonly filled: boolean },
): (typeof logBlocks.$inferSelect)[] => {
  const rows: (typeof logBlocks.$inferSelect)[] = [];
  let reached = reachedMs;
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
