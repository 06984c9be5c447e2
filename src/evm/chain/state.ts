import type { EvmToken } from "../../settings/assets.ts";
import { highest, lowest } from "../../values/bigints.ts";
import type { LinkedBlock } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { type ChainState, type EvmBatch, scheduleKey } from "../log/chain-state.ts";

/** The reader's copy, advanced by every batch that it yields. */
export type ReadingState = {
  readonly known: KnownBlocks;
  readonly schedules: Map<string, bigint>;
  finalBlock: bigint;
  /** Whether a batch of this run has stored the head. */
  headStored: boolean;
  next(token: EvmToken): bigint;
  /** The first block of any token. */
  first(): bigint;
  /** The token's next block after a rollback: never below the first block that was read. */
  nextAfterRollback(token: EvmToken, toBlock: bigint): bigint;
  /** Applies a batch as the store does. */
  apply(batch: EvmBatch): void;
};

export const readingState = (network: EvmNetwork, start: ChainState): ReadingState => {
  const nextBlock = new Map(
    network.tokens.map(({ address, fromBlock }) => [
      address,
      start.nextBlock.get(address) ?? BigInt(fromBlock),
    ]),
  );
  const firstOf = ({ address, fromBlock }: EvmToken) =>
    start.firstBlock.get(address) ?? BigInt(fromBlock);
  const state: ReadingState = {
    known: knownBlocks(start.blocks),
    schedules: new Map(start.schedules),
    finalBlock: start.finalBlock,
    headStored: false,
    next: ({ address, fromBlock }) => nextBlock.get(address) ?? BigInt(fromBlock),
    nextAfterRollback: (token, toBlock) => {
      const next = state.next(token);
      return next <= toBlock + 1n ? next : highest(toBlock + 1n, firstOf(token));
    },
    first: () => {
      const [some = 0n, ...others] = network.tokens.map(firstOf);
      return lowest(some, ...others);
    },
    apply: (batch) => {
      if (batch.rollback !== null) {
        const { toBlock } = batch.rollback;
        for (const token of network.tokens) {
          nextBlock.set(token.address, state.nextAfterRollback(token, toBlock));
        }
        state.known.cutAbove(toBlock);
        // Logs of the new chain name them again.
        for (const [key, block] of state.schedules) {
          if (block > toBlock) state.schedules.delete(key);
        }
      }
      for (const token of batch.tokens) nextBlock.set(token, batch.last + 1n);
      for (const { token, scheduleId, block } of batch.schedules) {
        state.schedules.set(scheduleKey(token, scheduleId), block);
      }
      state.known.extend(batch.blocks);
      state.known.cutBelow(batch.keepFrom);
      state.finalBlock = batch.finalBlock;
      state.headStored = true;
    },
  };
  return state;
};

/** The newest blocks read, each the parent of the next; comparing them detects reorganisations. */
export type KnownBlocks = {
  tip(): LinkedBlock | undefined;
  oldest(): LinkedBlock | undefined;
  at(number: bigint): LinkedBlock | undefined;
  /** The newest `count` up to `number`, newest first. */
  downFrom(number: bigint, count: number): readonly LinkedBlock[];
  /** Appends blocks; those that do not continue the known ones replace them. */
  extend(blocks: readonly LinkedBlock[]): void;
  cutAbove(number: bigint): void;
  /** Keeps the tip. */
  cutBelow(number: bigint): void;
};

/** @param blocks ascending and consecutive */
const knownBlocks = (blocks: readonly LinkedBlock[]): KnownBlocks => {
  let known = [...blocks];

  const indexOf = (number: bigint) => {
    const [oldest] = known;
    return oldest === undefined ? -1 : Number(number - oldest.number);
  };

  return {
    tip: () => known.at(-1),
    oldest: () => known[0],
    at: (number) => {
      const index = indexOf(number);
      return index < 0 ? undefined : known[index];
    },
    downFrom: (number, count) => {
      const end = indexOf(number) + 1;
      return end <= 0 ? [] : known.slice(Math.max(0, end - count), end).reverse();
    },
    extend: (added) => {
      for (const block of added) {
        const tip = known.at(-1);
        if (tip === undefined || block.number > tip.number + 1n) known = [block];
        else if (block.number === tip.number + 1n) known.push(block);
        // Otherwise known: read again for a token that catches up.
      }
    },
    cutAbove: (number) => {
      known = known.slice(0, Math.max(0, indexOf(number) + 1));
    },
    cutBelow: (number) => {
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
