import type { EvmToken } from "../../settings/assets.ts";
import { highest, lowest } from "../../values/bigints.ts";
import type { LinkedBlock } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { type ChainState, type EvmBatch, scheduleKey } from "../log/chain-state.ts";

/** The reader's copy of the log's state, advanced by every batch that it yields. */
export type ReadingState = ReturnType<typeof readingState>;

export const readingState = (network: EvmNetwork, start: ChainState) => {
  const { tokens } = network;
  const known = knownBlocks(start.blocks);
  const schedules = new Map(start.schedules);
  const nextBlock = new Map(start.nextBlock);
  const firstOf = ({ address, fromBlock }: EvmToken) =>
    start.firstBlock.get(address) ?? BigInt(fromBlock);
  const next = ({ address, fromBlock }: EvmToken) => nextBlock.get(address) ?? BigInt(fromBlock);
  /** Never below the first block that was read. */
  const nextAfterRollback = (token: EvmToken, toBlock: bigint) =>
    next(token) <= toBlock + 1n ? next(token) : highest(toBlock + 1n, firstOf(token));
  return {
    known,
    schedules,
    finalBlock: start.finalBlock,
    /** Whether a batch of this run has stored the head. */
    headStored: false,
    next,
    nextAfterRollback,
    /** The first block of any token. */
    first: () => {
      const [some = 0n, ...others] = tokens.map(firstOf);
      return lowest(some, ...others);
    },
    /** Applies a batch as the store does. */
    apply(batch: EvmBatch) {
      if (batch.rollback !== null) {
        const { toBlock } = batch.rollback;
        for (const token of tokens) {
          nextBlock.set(token.address, nextAfterRollback(token, toBlock));
        }
        known.cutAbove(toBlock);
        // Logs of the new chain name them again.
        for (const [key, block] of schedules) if (block > toBlock) schedules.delete(key);
      }
      for (const token of batch.tokens) nextBlock.set(token, batch.last + 1n);
      for (const { token, scheduleId, block } of batch.schedules) {
        schedules.set(scheduleKey(token, scheduleId), block);
      }
      known.extend(batch.blocks);
      known.cutBelow(batch.keepFrom);
      this.finalBlock = batch.finalBlock;
      this.headStored = true;
    },
  };
};

/** The newest blocks read, each the parent of the next; comparing them detects reorganisations. */
export type KnownBlocks = ReturnType<typeof knownBlocks>;

/** @param blocks ascending and consecutive */
const knownBlocks = (blocks: readonly LinkedBlock[]) => {
  let known = [...blocks];

  const indexOf = (number: bigint) => {
    const [oldest] = known;
    return oldest === undefined ? -1 : Number(number - oldest.number);
  };

  return {
    tip: () => known.at(-1),
    oldest: () => known[0],
    at: (number: bigint) => {
      const index = indexOf(number);
      return index < 0 ? undefined : known[index];
    },
    /** The newest `count` up to `number`, newest first. */
    downFrom: (number: bigint, count: number): readonly LinkedBlock[] => {
      const end = indexOf(number) + 1;
      return end <= 0 ? [] : known.slice(Math.max(0, end - count), end).reverse();
    },
    /** Appends blocks; those that do not continue the known ones replace them. */
    extend: (added: readonly LinkedBlock[]) => {
      for (const block of added) {
        const tip = known.at(-1);
        if (tip === undefined || block.number > tip.number + 1n) known = [block];
        else if (block.number === tip.number + 1n) known.push(block);
        // Otherwise known: read again for a token that catches up.
      }
    },
    cutAbove: (number: bigint) => {
      known = known.slice(0, Math.max(0, indexOf(number) + 1));
    },
    /** Keeps the tip. */
    cutBelow: (number: bigint) => {
      if (known.length > 1)
        known = known.slice(Math.min(Math.max(0, indexOf(number)), known.length - 1));
    },
  };
};

/** Tokens with the same next block, read together. */
export type TokenGroup = {
  readonly tokens: readonly EvmToken[];
  readonly first: bigint;
  /** Inclusive: before the next token joins, or the end of the region. */
  readonly last: bigint;
};

/** The tokens furthest behind among those whose next block is from `start` to `end`. */
export const furthestBehind = (
  tokens: readonly EvmToken[],
  state: ReadingState,
  start: bigint,
  end: bigint,
): TokenGroup | undefined => {
  const nexts = tokens.map((token) => state.next(token)).filter((n) => n >= start && n <= end);
  const [some, ...others] = nexts;
  if (some === undefined) return undefined;
  const first = lowest(some, ...others);
  const joins = nexts.filter((next) => next > first).map((next) => next - 1n);
  return {
    tokens: tokens.filter((token) => state.next(token) === first),
    first,
    last: lowest(end, ...joins),
  };
};

/**
 * Tokens read beyond the rollback's block, with those of a later first block: one batch replaces
 * all withdrawn facts. Each token's facts begin at its `nextAfterRollback`.
 */
export const replacedTokens = (
  tokens: readonly EvmToken[],
  state: ReadingState,
  toBlock: bigint,
  head: bigint,
): TokenGroup | undefined => {
  const first = toBlock + 1n;
  if (first > head) return undefined;
  const replaced = tokens.filter((token) => {
    const next = state.next(token);
    const after = state.nextAfterRollback(token, toBlock);
    return next >= first && (after === first || (after < next && after <= head));
  });
  return replaced.length === 0 ? undefined : { tokens: replaced, first, last: head };
};
