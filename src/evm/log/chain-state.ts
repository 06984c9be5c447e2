/** Between reader and log: the log's progress, and the next batch. */
import type { Address, EvmBlock, EvmFact, LinkedBlock, ReleaseSchedule } from "../contract/fact.ts";

export type ScheduleFact = {
  readonly token: Address;
  readonly scheduleId: bigint;
  /** Block whose log first named the schedule; its rollback withdraws the schedule. */
  readonly block: bigint;
  readonly schedule: ReleaseSchedule;
};

/** One step of a chain, applied in one transaction in this order: withdraw, append, prune. */
export type EvmBatch = {
  readonly chainId: number;
  /** Withdraw everything above `toBlock`; null when the chain only grew. */
  readonly rollback: {
    /** Last block that survives. */
    readonly toBlock: bigint;
    /** A block that counted as final was replaced: the configured finality is too weak. */
    readonly belowFinal: boolean;
  } | null;
  /** Tokens of which `facts` is complete for blocks `first` to `last`. */
  readonly tokens: readonly Address[];
  readonly first: bigint;
  /** Inclusive; `first - 1` when no block is covered (only head, finality or a rollback). */
  readonly last: bigint;
  /** By block, then log index, then token. */
  readonly facts: readonly EvmFact[];
  readonly schedules: readonly ScheduleFact[];
  /** Consecutive blocks to keep for detecting reorganisations. */
  readonly blocks: readonly LinkedBlock[];
  /** Kept blocks below this number are settled and may be deleted. */
  readonly keepFrom: bigint;
  /**
   * Newest block final by configuration; -1: none. Falls only in a batch that rolls back below it.
   */
  readonly finalBlock: bigint;
  /** The chain's newest block at the time of reading. */
  readonly head: EvmBlock;
};

export type ChainState = {
  /** Newest blocks read, ascending and consecutive; empty at first. */
  readonly blocks: readonly LinkedBlock[];
  /** Blocks up to this one were reported final; -1 while none was. */
  readonly finalBlock: bigint;
  /** Next block to read of each token; absent tokens begin at their `fromBlock`. */
  readonly nextBlock: ReadonlyMap<Address, bigint>;
  /** First block read of each token; below its `fromBlock` where that was raised since. */
  readonly firstBlock: ReadonlyMap<Address, bigint>;
  /** Schedules already read, by `scheduleKey`, with the block that first named each. */
  readonly schedules: ReadonlyMap<string, bigint>;
};

export type ChainStore = {
  /** State after the last stored batch. */
  state(): Promise<ChainState>;
  /** Stores a batch atomically. */
  append(batch: EvmBatch): Promise<void>;
};

export const scheduleKey = (token: Address, scheduleId: bigint): string => `${token}/${scheduleId}`;
