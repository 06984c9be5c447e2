/** The wiring of a backfill by many workers: its queue, and a worker process. */
import { BACKFILL_QUEUE, JOINING, joinRanges } from "../backfill/join-ranges.ts";
import { workRanges } from "../backfill/work-ranges.ts";
import { openQueues, type Queues } from "../lanes/queues.ts";
import type { Guide } from "../ledger/reading/reader.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import { aborted } from "../waiting/aborted.ts";
import { isDemoLedger } from "./demo.ts";
import type { Process } from "./process.ts";
import { startRangeThreads } from "./range-threads.ts";
import { openStorage, type Storage } from "./storage.ts";

const queuesOf = ({ redisUrl }: Config, { url }: Storage, logger: Logger): Queues => {
  const rarely = createRareLines();
  return openQueues({
    databaseUrl: url,
    redisUrl,
    onError: (err) =>
      rarely(err.message, (repeats) => logger.warn({ err, ...repeats }, "the queue has trouble")),
  });
};

/** @throws ConfigError for the demo ledger, which the process that serves it makes */
export const assertDivisible = (config: Config): void => {
  if (!isDemoLedger(config)) return;
  throw new ConfigError(
    "LEDGER_SOURCE: must name a full node, an object store or a folder; the demo ledger is made by the process that serves it",
  );
};

/**
 * Reads with the help of workers. Dispose of it after the reader has ended.
 * @param size checkpoints of a range
 */
export const openJoining = (
  config: Config,
  logger: Logger,
  storage: Storage,
  size: bigint,
): { readonly guide: Guide } & AsyncDisposable => {
  const queues = queuesOf(config, storage, logger);
  const queue = queues.queue(BACKFILL_QUEUE);
  return {
    guide: joinRanges({ ...JOINING, queue, size }),
    [Symbol.asyncDispose]: queues.close,
  };
};

/** Ranges of one thread at a time: one is fetched while another is decoded. */
const RANGES_PER_THREAD = 2;

/**
 * Reads ranges until the process is asked to end.
 * @throws ConfigError, see `assertDivisible`
 */
export const workBackfill = async (
  {
    config,
    logger,
    signal,
    giveUp,
  }: Process & {
    readonly signal: AbortSignal;
    readonly giveUp: (error: Error) => void;
  },
  threads: number,
): Promise<void> => {
  assertDivisible(config);
  await using storage = await openStorage(config, logger, { tables: "current", onLost: giveUp });
  await using reading = startRangeThreads(threads, giveUp);
  await using queues = queuesOf(config, storage, logger);
  const worker = workRanges({
    ...{ database: storage.write, queues, read: reading.read },
    concurrency: threads * RANGES_PER_THREAD,
    onRead: ({ first, last }, { rawBytes }) =>
      logger.info({ first: `${first}`, last: `${last}`, bytes: rawBytes }, "read a range"),
    onFailed: ({ first, last }, err) =>
      logger.warn(
        { first: `${first}`, last: `${last}`, err },
        "a range could not be read; it is tried again",
      ),
  });
  await worker.ready();
  logger.info({ threads, queue: queues.backend }, "reading ranges of a backfill");
  await aborted(signal);
};
