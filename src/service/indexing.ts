/** Indexing in this process: one reader, and every pipeline at its own pace. */

import type { Database } from "../database/connect.ts";
import type { Trouble } from "../http/health/progress.ts";
import { readerAt } from "../ledger/reading/read.ts";
import { type Guide, type ReaderProgress, runReader } from "../ledger/reading/reader.ts";
import { hasGuided } from "../log/between.ts";
import { createFeed } from "../log/feed.ts";
import { factSource } from "../log/log.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { runPipelines } from "../pipelines/runner.ts";
import type { PipelineStatus } from "../pipelines/status.ts";
import { noteIncomplete } from "../projections/incomplete-coins.ts";
import { keepStatusHistory } from "../projections/status-history.ts";
import type { Config } from "../settings/config.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type BulkProgress, NO_BULK } from "../values/bulk-progress.ts";
import { findAsked } from "./find-asked.ts";
import type { LocalProgress } from "./health/snapshot.ts";
import { type Ledger, verificationOf } from "./ledger-source.ts";
import { shownReason } from "./process-notes.ts";
import type { Storage } from "./storage.ts";

type IndexingSettings = {
  readonly config: Config;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly storage: Pick<Storage, "write">;
  readonly ledger: Ledger;
  /** Start of an empty log; default: see `ReaderOptions`. */
  readonly firstCheckpoint?: bigint | undefined;
  /** Ends once every pipeline has committed it; never if absent. */
  readonly last?: bigint | undefined;
  /** Reads far ranges in this way; by default as the settings say. */
  readonly guide?: Guide | undefined;
  /** How long to retry without progress, milliseconds; for ever if absent. */
  readonly retryForMs?: number | undefined;
  /** Names of pipelines to run; all if absent. */
  readonly pipelines?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: ReaderProgress) => void;
};

export type Indexing = {
  /** The part of `/health` that is not in the database. */
  readonly local: () => LocalProgress;
  /** How far the reading of a far range is. */
  readonly bulk: () => BulkProgress;
  /** Resolves once the log is open; rejects when it belongs to another chain. */
  readonly opened: Promise<void>;
  /** Resolves when everything has ended, by `last` or the signal; `failures` are permanent ones. */
  readonly ended: Promise<{ readonly failures: readonly Error[] }>;
};

/**
 * The feed holds this many of the largest batches: pipelines this far behind need not read back.
 */
const FEED_BATCHES = 2;

/** Ends by itself only with `last`; a failure of one part does not stop the others. */
export const startIndexing = (settings: IndexingSettings): Indexing => {
  const { config, logger, telemetry, storage, ledger, signal, last, onProgress } = settings;
  const chosen = settings.pipelines;
  const pipelines = ledgerPipelines.filter(({ name }) => chosen?.includes(name) ?? true);
  const feed = createFeed({
    maxFacts: FEED_BATCHES * config.batchFacts,
    maxBytes: FEED_BATCHES * config.batchBytes,
  });
  const rarely = createRareLines();
  const opened = Promise.withResolvers<void>();
  // Callers that do not wait for it get the failure from `ended`.
  opened.promise.catch(() => undefined);

  let tip: bigint | null = null;
  let bulk = NO_BULK;
  let readerTrouble: Trouble | undefined;
  const pipelineTroubles = new Map<string, Trouble>();

  const reader = runReader(
    {
      database: storage.write,
      source: ledger.source,
      contact: ledger.contact,
      telemetry,
      read: readerAt(config.verify.level),
      verification: verificationOf(config, ledger.committee),
      guide: settings.guide ?? configuredGuide(config, logger, storage.write),
      packages: ledger.packages,
      firstCheckpoint: settings.firstCheckpoint,
      last,
      retryForMs: settings.retryForMs,
      feed,
      bounds: { facts: config.batchFacts, bytes: config.batchBytes },
      onProgress: (progress) => {
        const { guided, backfill } = progress;
        ({ tip } = progress);
        bulk = { guided, backfill };
        readerTrouble = troubleOf(progress.error, progress.state === "stopped", readerTrouble);
        if (progress.state !== "opening" && progress.state !== "stopped") opened.resolve();
        onProgress?.(progress);
      },
      onNews: (message) => logger.info(message),
      onNotice: (message, err) =>
        rarely(`${message} ${err}`, (repeats) =>
          logger.warn({ ...(err !== undefined && { err }), ...repeats }, message),
        ),
    },
    signal,
  ).then(
    () => {
      opened.resolve();
      return undefined;
    },
    (error: Error) => {
      readerTrouble = troubleOf(error, true);
      opened.reject(error);
      logger.error({ err: error }, "the reader stopped");
      return error;
    },
  );

  const showStatus = ({ pipeline, state, error }: PipelineStatus) => {
    const trouble = troubleOf(error, state === "stopped", pipelineTroubles.get(pipeline));
    if (trouble === undefined) pipelineTroubles.delete(pipeline);
    else pipelineTroubles.set(pipeline, trouble);
  };

  // Serving processes ask for checkpoints between those that were read.
  const found = opened.promise.then(
    async () => {
      const isGuided = config.reading === "guided" || (await hasGuided(storage.write));
      const isAsked = last === undefined && isGuided;
      if (!isAsked) return;
      await findAsked({
        database: storage.write,
        source: ledger.source,
        onFailure: (err) =>
          rarely(`${err}`, (repeats) =>
            logger.warn({ err, ...repeats }, "cannot find a checkpoint that was asked for"),
          ),
        signal,
      });
    },
    () => undefined,
  );

  // Without `last` pipelines outlive a stopped reader; with it, nothing more would come.
  const giveUp = new AbortController();
  const running = opened.promise.then(
    () =>
      runPipelines({
        database: storage.write,
        log: factSource(storage.write),
        feed,
        pipelines,
        bounds: { maxFacts: config.batchFacts, maxBytes: config.batchBytes },
        last,
        signal: AbortSignal.any([signal, giveUp.signal]),
        logger,
        telemetry,
        onProgress: showStatus,
      }),
    () => [],
  );

  const noting = new AbortController();
  const noted = keepStatusHistory(
    storage.write,
    ledgerPipelines,
    AbortSignal.any([signal, noting.signal]),
  );

  const end = async () => {
    const failed = await reader;
    if (failed !== undefined && last !== undefined) giveUp.abort();
    const statuses = await running;
    await found;
    noting.abort();
    await noted;
    const errors = [failed, ...statuses.map(({ error }) => error)];
    return { failures: errors.filter((error) => error instanceof Error) };
  };
  return {
    local: () => ({ tip, reader: readerTrouble, pipelines: pipelineTroubles }),
    bulk: () => bulk,
    opened: opened.promise,
    ended: end(),
  };
};

const configuredGuide = (config: Config, logger: Logger, database: Database) =>
  config.reading === "guided" ? guideOf(config, logger, database) : undefined;

/** Guided reading by the lists of the configured node, which is contacted when it is needed. */
const guideOf =
  (config: Config, logger: Logger, { sql }: Pick<Database, "sql">): Guide =>
  async (from, signal) => {
    const { guideWith } = await import("../ledger/guided/guided-reading.ts");
    const { openLedgerIndex } = await import("./ledger-index.ts");
    const index = await openLedgerIndex(config, logger);
    try {
      await guideWith({
        index,
        concurrency: config.fetchConcurrency,
        onMissing: (missing) => noteIncomplete(sql, missing),
      })(from, signal);
    } finally {
      await index.close();
    }
  };

/** @param before trouble that this continues */
const troubleOf = (
  error: Error | null,
  gaveUp: boolean,
  before?: Trouble | undefined,
): Trouble | undefined =>
  error === null
    ? undefined
    : { gaveUp, reason: shownReason(error), sinceMs: before?.sinceMs ?? Date.now() };
