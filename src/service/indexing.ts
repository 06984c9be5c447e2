/** Reading and projecting in this process: one reader, and every pipeline at its own pace. */

import type { LocalProgress, Trouble } from "../http/health/progress.ts";
import { readerAt } from "../ledger/reading/read.ts";
import { type ReaderProgress, runReader } from "../ledger/reading/reader.ts";
import { createFeed } from "../log/feed.ts";
import { factSource } from "../log/log.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { runPipelines } from "../pipelines/runner.ts";
import type { PipelineStatus } from "../pipelines/status.ts";
import type { Config } from "../settings/config.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Ledger } from "./ledger-source.ts";
import { shownReason } from "./process-notes.ts";
import type { Storage } from "./storage.ts";
import { verificationOf } from "./verification.ts";

type IndexingSettings = {
  readonly config: Config;
  readonly logger: Logger;
  /** Told of every batch; nobody is unless given. */
  readonly telemetry?: Telemetry | undefined;
  readonly storage: Pick<Storage, "write">;
  readonly ledger: Ledger;
  /** Where an empty log begins; absent: see `ReaderOptions`. */
  readonly firstCheckpoint?: bigint | undefined;
  /** End once every pipeline has committed it; absent: never by itself. */
  readonly last?: bigint | undefined;
  /** How long what may pass is tried again without reading on, milliseconds; absent: for ever. */
  readonly retryForMs?: number | undefined;
  /** Names of the pipelines to run; absent: all. */
  readonly pipelines?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: ReaderProgress) => void;
};

export type Indexing = {
  /** What `/health` cannot read from the database. */
  readonly local: () => LocalProgress;
  /** Resolves once the log is open and of this chain; rejects when it refuses this ledger. */
  readonly opened: Promise<void>;
  /**
   * Resolves when everything has ended: by `last`, or by the signal. What the reader or a pipeline
   * gave up over is in `failures`.
   */
  readonly ended: Promise<{ readonly failures: readonly Error[] }>;
};

/** The feed holds this many batches of the largest size: what pipelines may trail without reading back. */
const FEED_BATCHES = 2;

/** Starts indexing. It ends by itself only with `last`; a failure of one part leaves the others going. */
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
  // A caller that does not wait for it still gets the failure from `ended`.
  opened.promise.catch(() => undefined);

  let tip: bigint | null = null;
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
      packages: ledger.packages,
      firstCheckpoint: settings.firstCheckpoint,
      last,
      retryForMs: settings.retryForMs,
      feed,
      bounds: { facts: config.batchFacts, bytes: config.batchBytes },
      onProgress: (progress) => {
        tip = progress.tip;
        readerTrouble = troubleOf(progress.error, progress.state === "stopped", readerTrouble);
        if (progress.state !== "opening" && progress.state !== "stopped") opened.resolve();
        onProgress?.(progress);
      },
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

  // Without `last` the pipelines outlive a reader that stopped; with it there is nothing to wait for.
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

  const end = async () => {
    const failed = await reader;
    if (failed !== undefined && last !== undefined) giveUp.abort();
    const statuses = await running;
    const errors = [failed, ...statuses.map(({ error }) => error)];
    return { failures: errors.filter((error) => error instanceof Error) };
  };
  return {
    local: () => ({ tip, reader: readerTrouble, pipelines: pipelineTroubles }),
    opened: opened.promise,
    ended: end(),
  };
};

/** @param before trouble that it goes on with */
const troubleOf = (
  error: Error | null,
  gaveUp: boolean,
  before?: Trouble | undefined,
): Trouble | undefined =>
  error === null
    ? undefined
    : { gaveUp, reason: shownReason(error), sinceMs: before?.sinceMs ?? Date.now() };
