/**
 * Runs pipelines, each at its own pace: its own lock, watermark, connection and errors. None waits for
 * another, and the reader waits for none.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Blocker, blockersInWords } from "../database/brief-locks.ts";
import { type Database, databaseRemedy } from "../database/connect.ts";
import { LOG_CHANNEL } from "../log/append.ts";
import type { Feed } from "../log/feed.ts";
import type { FactSource } from "../log/log.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines, type RareLines } from "../logging/rare-lines.ts";
import { followPauses } from "../pauses/paused-pipelines.ts";
import type { HeldCoin, HeldCoins } from "../projections/held-coins.ts";
import { noTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import { createLogTip, type LogTip } from "./log-tip.ts";
import type { Pipeline } from "./pipeline.ts";
import { runPipeline } from "./run-pipeline.ts";
import { initialStatus, type PipelineStatus } from "./status.ts";

export type RunnerOptions = {
  readonly database: Database;
  readonly log: FactSource;
  /** The reader's batches, when it runs in this process. */
  readonly feed?: Feed | undefined;
  readonly pipelines: readonly Pipeline[];
  /** Bounds of one transaction: facts, and bytes as `factBytes` counts them. */
  readonly bounds: { readonly maxFacts: number; readonly maxBytes: number };
  /** Each pipeline ends once it has committed this checkpoint; without it, only with `signal`. */
  readonly last?: bigint | undefined;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Called after each batch; optional. */
  readonly telemetry?: Telemetry | undefined;
  /** Called with each new status, at least after every batch. */
  readonly onProgress?: ((status: PipelineStatus) => void) | undefined;
};

/**
 * A notification of our own append arrives about when the feed gets the batch; after this many
 * milliseconds it was another process's.
 */
const FEED_GRACE_MS = 20;

/**
 * Runs the pipelines until `signal` aborts, or each has ended or stopped. Finishes open transactions.
 * Resolves with their final statuses; a stopped one has its error.
 */
export const runPipelines = async (options: RunnerOptions): Promise<readonly PipelineStatus[]> => {
  const { database, feed, log, pipelines, bounds, last, signal, logger, onProgress } = options;
  const { telemetry = noTelemetry() } = options;
  const statuses = new Map(pipelines.map(({ name }) => [name, initialStatus(name)]));
  const ended = new AbortController();
  const tip = createLogTip();
  const rarely = createRareLines();
  const following = AbortSignal.any([signal, ended.signal]);
  followLog(options, tip, following);
  const paused = followPauses(database, following);

  const runs = pipelines.map((pipeline) => {
    const report = (change: Partial<PipelineStatus>) => {
      const before = statuses.get(pipeline.name) ?? initialStatus(pipeline.name);
      const after = { ...before, ...change };
      statuses.set(pipeline.name, after);
      logChange(logger, rarely, before, after);
      onProgress?.(after);
    };
    const onBlocked = (blockers: readonly Blocker[]) =>
      logger.warn({ pipeline: pipeline.name, blockers }, blockersInWords(blockers));
    const openFeed = feed && (() => feed.open());
    const quarantine = quarantineLines(logger, rarely, pipeline.name);
    const run = {
      ...{ pipeline, pipelines, database, log, openFeed, tip, paused },
      ...bounds,
      last,
      signal,
      report,
      onBlocked,
      ...quarantine,
    };
    return runPipeline({ ...run, telemetry });
  });
  await Promise.all(runs);
  ended.abort();
  return [...statuses.values()];
};

/** Feeds every source of log progress into `tip`. */
const followLog = (
  { database, feed, log }: RunnerOptions,
  tip: LogTip,
  signal: AbortSignal,
): void => {
  feed?.onPush(() => {
    if (feed.next !== null) tip.advance(feed.next);
  }, signal);
  database.listen(
    LOG_CHANNEL,
    async (payload) => {
      if (feed !== undefined && payload !== null)
        await delay(FEED_GRACE_MS, undefined, { ref: false });
      if (payload !== null && /^\d+$/.test(payload)) return tip.advance(BigInt(payload));
      // Just connected: ask once. When that fails, the waiting pipelines ask themselves.
      await log.highWater().then(
        ({ nextCheckpoint }) => tip.advance(nextCheckpoint),
        () => tip.wake(),
      );
    },
    signal,
  );
};

/** Log lines about coins in quarantine. */
const quarantineLines = (logger: Logger, rarely: RareLines, pipeline: string) => ({
  onHeld: (found: HeldCoins) => {
    for (const [coinType, { from, reason }] of found) {
      const where = { pipeline, coinType, checkpoint: `${from}`, reason };
      logger.error(where, "a fact cannot be applied; its coin is in quarantine, the others go on");
    }
  },
  onTried: (coinType: string, held: HeldCoin | null) => {
    if (held === null) return logger.info({ pipeline, coinType }, "coin released from quarantine");
    const { from, reason } = held;
    const where = { pipeline, coinType, checkpoint: `${from}`, reason };
    logger.warn(where, "coin stays in quarantine: see `holderbook quarantine show`");
  },
  onReleaseTrouble: (err: Error) =>
    rarely(`${pipeline} release: ${err.message}`, (repeats) =>
      logger.warn({ pipeline, err, ...repeats }, "releasing held coins failed; trying again"),
    ),
});

const logChange = (
  logger: Logger,
  rarely: RareLines,
  before: PipelineStatus,
  after: PipelineStatus,
): void => {
  logFilling(logger, rarely, before, after);
  const { pipeline, state, nextCheckpoint, error } = after;
  if (state === before.state && error === before.error) return;
  const where = { pipeline, nextCheckpoint: nextCheckpoint?.toString() };
  // When every attempt fails, each is `running` briefly.
  if (error === null) {
    rarely(`${pipeline} ${state}`, (repeats) =>
      logger.info({ ...where, ...repeats }, `pipeline ${state}`),
    );
  } else if (state === "stopped") {
    logger.error({ ...where, err: error, remedy: databaseRemedy(error) }, "pipeline stopped");
  } else {
    rarely(`${pipeline} ${error.message}`, (repeats) =>
      logger.warn({ ...where, err: error, ...repeats }, "pipeline failed; trying again"),
    );
  }
};

const logFilling = (
  logger: Logger,
  rarely: RareLines,
  before: PipelineStatus,
  { pipeline, filling, fillError, nextCheckpoint }: PipelineStatus,
): void => {
  if (fillError !== null && fillError !== before.fillError) {
    rarely(`${pipeline} filling: ${fillError.message}`, (repeats) =>
      logger.warn({ pipeline, err: fillError, ...repeats }, "filling history failed; trying again"),
    );
  }
  if (filling === before.filling) return;
  if (filling === null) logger.info({ pipeline }, "history is filled in");
  else {
    const where = { pipeline, filledTo: `${filling - 1n}`, of: nextCheckpoint?.toString() };
    rarely(`${pipeline} filling`, () => logger.info(where, "history is being filled in"));
  }
};
