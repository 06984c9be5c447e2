/**
 * The event log: every fact of our contract, in chain order, and how far it is complete.
 *
 * One reader appends, any number of pipelines read. Appending is one transaction: facts and
 * high-water mark move together or not at all.
 */
import type { Database, Transactor } from "../database/connect.ts";
import { appendBatch } from "./append.ts";
import { completeChains } from "./chain.ts";
import { createChainEnds } from "./chain-ends.ts";
import type { AppendBatch, CoinDecimals, FactBatch } from "./fact.ts";
import { claimHighWater, type HighWater, type LogIdentity, readHighWater } from "./high-water.ts";
import { LogNotOpenedError } from "./log-errors.ts";
import { type FactRequest, readFacts } from "./read-facts.ts";

export type { HighWater, LogIdentity } from "./high-water.ts";
export type { FactRequest } from "./read-facts.ts";

/** What pipelines need of the log. */
export type FactSource = {
  /**
   * The facts with the wanted names from a checkpoint on: whole checkpoints, at least one that holds
   * facts, else no more than the bounds; null when the log has nothing at or above `from`.
   */
  readFacts(request: FactRequest): Promise<FactBatch | null>;
  /** @throws LogNotOpenedError (wait) when no reader ever opened the log */
  highWater(): Promise<HighWater>;
};

/** The log as a reader holds it. */
export type Log = FactSource & {
  /** The log's own first checkpoint; wins over the one given to `openLog`. */
  readonly firstCheckpoint: bigint;
  /**
   * Appends the checkpoints `batch.first` to `batch.last` with their facts and the decimals that
   * metadata objects among them gave, and moves the high-water mark.
   *
   * `on` is where the transaction runs: a reader that holds a lock gives its lock's session.
   * @throws HighWaterMovedError (stop) when the log does not expect `batch.first`
   * @throws InvalidBatchError (stop) when facts stand outside the batch or without their mark
   */
  append(batch: AppendBatch, coins: readonly CoinDecimals[], on?: Transactor): Promise<void>;
  /**
   * Completes the hash chains of a log that an older version wrote; the first append does so, too. Needs the
   * lock under which the log is appended to.
   * @throws LogChangedError (stop) when the log contradicts itself
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
 * Opens the log for appending: begins it, or checks that it is of the same chain and packages.
 *
 * A log that has begun keeps its first checkpoint: one that starts elsewhere would hold facts of a
 * different range under the same name. `onNotice` then says so.
 * @throws ChainMismatchError (stop) naming both chain ids
 * @throws PackagesChangedError (stop) naming both lists
 * @throws UnmetPackagesError (stop) naming those that the log does not know
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
      `the log begins at checkpoint ${claimed.firstCheckpoint} and keeps it; FIRST_CHECKPOINT ${firstCheckpoint} matters for an empty database only`,
    );
  }
  const source = factSource(database);
  const packages = new Set(claimed.packages);
  const knownSecurities = new Set<string>();
  const ends = createChainEnds();
  return {
    ...source,
    firstCheckpoint: claimed.firstCheckpoint,
    highWater: async () => {
      const mark = await source.highWater();
      // Another reader may have appended since the log was opened.
      for (const address of mark.packages) packages.add(address);
      return mark;
    },
    completeChains: (on, signal) => completeChains(on, { ...options, signal }),
    append: (batch, coins, on = database) =>
      appendBatch(on, { batch, coins, packages, knownSecurities, ends }),
  };
};
