/** How far a chain has been read: the reader's own copy, moved by every batch. */

import type { EvmToken } from "../../settings/assets.ts";
import { highest, lowest } from "../../values/bigints.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { type ChainState, type EvmBatch, scheduleKey } from "../log/chain-state.ts";
import { type KnownBlocks, knownBlocks } from "./known-blocks.ts";

/** The reader's own copy, moved by every batch it hands out. */
export type ReadingState = {
  readonly known: KnownBlocks;
  readonly schedules: Map<string, bigint>;
  finalBlock: bigint;
  /** Whether a batch since reading began has told the store where the head is. */
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
      start.nextBlock.get(address) ?? BigInt(fromBlock),
    ]),
  );
  const firstOf = ({ address, fromBlock }: EvmToken) =>
    start.firstBlock.get(address) ?? BigInt(fromBlock);
  const state: ReadingState = {
    known: knownBlocks(start.blocks),
    schedules: new Map(start.schedules),
    finalBlock: start.finalBlock,
    headTold: false,
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
