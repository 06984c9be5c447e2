/** What passes between the reader of a chain and the log: how far the log is, and the next batch for it. */
import type { Address, EvmBlock, EvmFact, LinkedBlock, ReleaseSchedule } from "../contract/fact.ts";

/** A schedule of a token, read once. */
export type ScheduleFact = {
  readonly token: Address;
  readonly scheduleId: bigint;
  /** Block whose log first named the schedule: withdrawn with it. */
  readonly block: bigint;
  readonly schedule: ReleaseSchedule;
};

/**
 * One step of a chain, for a consumer to apply in one transaction, in this order: withdraw, append,
 * forget.
 */
export type EvmBatch = {
  readonly chainId: number;
  /** Withdraw everything above `toBlock` first; null when the chain only grew. */
  readonly rollback: {
    /** Last block that survives. */
    readonly toBlock: bigint;
    /** A block that counted as final was replaced: the configured finality is too weak. */
    readonly belowFinal: boolean;
  } | null;
  /** Tokens of which `facts` is complete for blocks `first` to `last`. */
  readonly tokens: readonly Address[];
  readonly first: bigint;
  /** Inclusive; `first - 1` when the batch covers no block (only the head, finality or a rollback moved). */
  readonly last: bigint;
  /** By block, then log index, then token. */
  readonly facts: readonly EvmFact[];
  readonly schedules: readonly ScheduleFact[];
  /** Consecutive blocks to keep for the detection of reorganisations. */
  readonly blocks: readonly LinkedBlock[];
  /** Kept blocks below this number are settled and may be forgotten. */
  readonly keepFrom: bigint;
  /**
   * Blocks up to this one are final by configuration; -1 while none is. Decreases only in a batch that
   * rolls back below it.
   */
  readonly finalBlock: bigint;
  /** The newest block of the chain when this was read. */
  readonly head: EvmBlock;
};

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

/** Where the reader keeps its facts. */
export type ChainStore = {
  /** State after the last batch that was kept. */
  state(): Promise<ChainState>;
  /** Keeps a batch, all of it or nothing. */
  append(batch: EvmBatch): Promise<void>;
};

export const scheduleKey = (token: Address, scheduleId: bigint): string => `${token}/${scheduleId}`;
