/**
 * The event log: all facts of the contract in chain order.
 *
 * One reader appends, any number of pipelines read. An append moves facts and high-water mark in
 * one transaction.
 */
import type { Database, Transactor } from "../database/connect.ts";
import { appendBatch } from "./append.ts";
import { completeChains } from "./chain.ts";
import { createChainEnds } from "./chain-ends.ts";
import type { AppendBatch, CoinDecimals, FactBatch } from "./fact.ts";
import { claimHighWater, type HighWater, type LogIdentity, readHighWater } from "./high-water.ts";
import { LogNotOpenedError } from "./log-errors.ts";
import { createPartitionsAhead } from "./partitions.ts";
import { type FactRequest, readFacts } from "./read-facts.ts";

export type { HighWater, LogIdentity } from "./high-water.ts";
export type { FactRequest } from "./read-facts.ts";

/** Read access for pipelines. */
export type FactSource = {
  /**
   * Facts with the wanted names from a checkpoint on: whole checkpoints, at least one with facts,
   * else within the bounds; null when the log has nothing from `from` on.
   */
  readFacts(request: FactRequest): Promise<FactBatch | null>;
  /** @throws LogNotOpenedError (wait) when no reader has opened the log */
  highWater(): Promise<HighWater>;
};

export type Log = FactSource & {
  /** The log's first checkpoint; overrides the one given to `openLog`. */
  readonly firstCheckpoint: bigint;
  /**
   * Appends checkpoints with facts and decimals from metadata objects, and moves the high-water
   * mark.
   *
   * @param on runs the transaction: the session of the writer lock
   * @throws HighWaterMovedError (stop) when the log does not expect `batch.first`
   * @throws InvalidBatchError (stop) when facts are outside the batch or unmarked
   */
  append(batch: AppendBatch, coins: readonly CoinDecimals[], on?: Transactor): Promise<void>;
  /**
   * Completes the hash chains of an older version's log; the first append does too. Needs the
   * writer lock.
   * @throws LogChangedError (stop) when the log is inconsistent
   */
  completeChains(on: Transactor, signal: AbortSignal): Promise<void>;
};

/** Reads a log that another process fills. */
export const factSource = (database: Database): FactSource => ({
  readFacts: (request) => readFacts(database.sql, request),
  highWater: async () => {
    const found = await readHighWater(database.sql);
    if (found === undefined) throw new LogNotOpenedError();
    return found;
  },
});

/**
 * Opens the log for appending: begins it, or checks its chain and packages. A begun log keeps its
 * first checkpoint, with a message to `onNotice`.
 * @throws ChainMismatchError, PackagesChangedError, UnmetPackagesError (all stop)
 */
export const openLog = async (
  database: Database,
  identity: LogIdentity,
  options: { readonly onNotice?: (message: string) => void } = {},
): Promise<Log> => {
  const claimed = await database.transaction(({ sql }) => claimHighWater(sql, identity));
  const { firstCheckpoint = claimed.firstCheckpoint } = identity;
  if (claimed.firstCheckpoint !== firstCheckpoint) {
    options.onNotice?.(
      `the log begins at checkpoint ${claimed.firstCheckpoint} and cannot change that; FIRST_CHECKPOINT ${firstCheckpoint} only applies to an empty database`,
    );
  }
  const source = factSource(database);
  const packages = new Set(claimed.packages);
  const knownSecurities = new Set<string>();
  const ends = createChainEnds();
  const partitions = createPartitionsAhead();
  return {
    ...source,
    firstCheckpoint: claimed.firstCheckpoint,
    highWater: async () => {
      const mark = await source.highWater();
      // Another reader may have appended since.
      for (const address of mark.packages) packages.add(address);
      return mark;
    },
    completeChains: (on, signal) => completeChains(on, { ...options, signal }),
    append: (batch, coins, on = database) =>
      appendBatch(on, { batch, coins, packages, knownSecurities, ends, partitions }),
  };
};
