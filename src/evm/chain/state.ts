/** How far a chain has been read: what the reader starts from, and what the log keeps for it. */
import { highest, lowest } from "../../values/block-numbers.ts";
import type { Address, EvmBatch, LinkedBlock } from "../log/fact.ts";
import { type KnownBlocks, knownBlocks } from "./known-blocks.ts";
import type { EvmNetwork, EvmToken } from "./network.ts";

/** As a store returns it. */
export type ChainState = {
  /** Newest blocks read, ascending and consecutive; empty at first. */
  readonly blocks: readonly LinkedBlock[];
  /** Blocks up to this one were reported final; -1 while none was. */
  readonly finalBlock: bigint;
  /** Next block to read of each token; tokens not in it begin at their `fromBlock`. */
  readonly nextBlock: ReadonlyMap<Address, bigint>;
  /** First block read of each token; earlier than its `fromBlock` where that was raised since. */
  readonly firstBlock: ReadonlyMap<Address, bigint>;
  /** Schedules already read, by `scheduleKey`, with the block that first named each. */
  readonly schedules: ReadonlyMap<string, bigint>;
};

/** What the reader asks of whoever keeps the facts. */
export type ChainStore = {
  /** State after the last batch that was kept. */
  state(): Promise<ChainState>;
  /** Keeps a batch, all of it or nothing. */
  append(batch: EvmBatch): Promise<void>;
};

export const emptyChain: ChainState = {
  blocks: [],
  finalBlock: -1n,
  nextBlock: new Map(),
  firstBlock: new Map(),
  schedules: new Map(),
};

export const scheduleKey = (token: Address, scheduleId: bigint): string => `${token}/${scheduleId}`;

/** The reader's own copy, moved by every batch it hands out. */
export type ReadingState = {
  readonly known: KnownBlocks;
  readonly schedules: Map<string, bigint>;
  finalBlock: bigint;
  /** Whether a batch has told whoever keeps the facts where the head is, since reading began. */
  headTold: boolean;
  next(token: EvmToken): bigint;
  /** The first block that was read, or will be, of any token. */
  first(): bigint;
  /** Where the token's reading goes on after a rollback: never before the first block that was read. */
  nextAfterRollback(token: EvmToken, toBlock: bigint): bigint;
  /** Moves as the store does when it keeps the batch. */
  apply(batch: EvmBatch): void;
};

export const readingState = (network: EvmNetwork, start: ChainState): ReadingState => {
  const nextBlock = new Map(
    network.tokens.map(({ address, fromBlock }) => [
      address,
      start.nextBlock.get(address) ?? fromBlock,
    ]),
  );
  const firstOf = ({ address, fromBlock }: EvmToken) => start.firstBlock.get(address) ?? fromBlock;
  const state: ReadingState = {
    known: knownBlocks(start.blocks),
    schedules: new Map(start.schedules),
    finalBlock: start.finalBlock,
    headTold: false,
    next: ({ address, fromBlock }) => nextBlock.get(address) ?? fromBlock,
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
        // A log of the new chain names them anew.
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
      state.headTold = true;
    },
  };
  return state;
};
