import { type Database, databaseRetries } from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import type { FactBatch } from "../log/fact.ts";
import type { FeedPlace } from "../log/feed.ts";
import type { FactSource } from "../log/log.ts";
import type { PausedPipelines } from "../pauses/paused-pipelines.ts";
import type { HeldCoins } from "../projections/held-coins.ts";
import { PLANS_BY_KEY } from "../projections/plans.ts";
import { secondsSince } from "../telemetry/figures.ts";
import { batchSampler } from "../telemetry/sampling.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { batchTrace, traced } from "../telemetry/tracing.ts";
import type { Backoff } from "../waiting/backoff.ts";
import { followingAbort } from "../waiting/following-abort.ts";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { errorOf, type Remedy } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import { applyBatch, digestChain } from "./apply.ts";
import type { LogTip } from "./log-tip.ts";
import type { Pipeline } from "./pipeline.ts";
import { registerPipeline, type WatermarkState } from "./register.ts";
import { type ReleasingHeld, releaseHeld } from "./release-held.ts";
import { type Filling, fillAdded } from "./replay/fill-added.ts";
import type { PipelineStatus } from "./status.ts";

export type PipelineRun = {
  readonly pipeline: Pipeline;
  /** All that this process runs. */
  readonly pipelines: readonly Pipeline[];
  readonly database: Database;
  readonly log: FactSource;
  /** Opens a place in the feed; absent where no reader runs in this process. */
  readonly openFeed: (() => FeedPlace) | undefined;
  readonly tip: LogTip;
  readonly paused: PausedPipelines;
  /** Bounds of one transaction. */
  readonly maxFacts: number;
  readonly maxBytes: number;
  /** Ends once this checkpoint is committed; without it, never. */
  readonly last: bigint | undefined;
  readonly signal: AbortSignal;
  readonly telemetry: Telemetry;
  /** Called with each change of the status. */
  readonly report: (change: Partial<PipelineStatus>) => void;
  /** Called every few seconds while others keep an upgrade's exchange of tables waiting. */
  readonly onBlocked?: Filling["onBlocked"];
  /** Called with the coins that are held from a batch on. */
  readonly onHeld?: (found: HeldCoins) => void;
  /** Called for each coin that was held at the start, once its facts were tried. */
  readonly onTried?: ReleasingHeld["onTried"];
  readonly onReleaseTrouble?: (error: Error) => void;
};

/** After this many milliseconds without news a pipeline reads the log itself. */
const ASK_AFTER_MS = 1_000;

const BACKOFF: Backoff = { firstMs: 100, maxMs: 30_000 };

/**
 * Runs one pipeline until `signal` aborts, `last` is committed, or an error says stop.
 * Never rejects: errors are in the status. Transient ones are retried.
 */
export const runPipeline = async (run: PipelineRun): Promise<void> => {
  const { pipeline, telemetry, signal, report } = run;
  const of = { pipeline: pipeline.name };
  const trouble = {
    backoff: BACKOFF,
    ...databaseRetries,
    onTrouble: (error: Error) => {
      telemetry.figures.count("holderbook_pipeline_retries_total", of);
      report({ state: "retrying", error });
    },
  };
  telemetry.figures.begin("holderbook_pipeline_retries_total", of);
  try {
    await retrying((progressed) => holdAndApply(run, progressed), trouble, signal);
  } catch (error) {
    return report({ state: "stopped", error: errorOf(error) });
  }
  report({ state: "ended", error: null });
};

/**
 * Takes the lock, then applies batches through the lock's own session.
 * @param onProgress called once a batch is applied or none is left, which resets the backoff
 */
const holdAndApply = async (run: PipelineRun, onProgress: () => void): Promise<void> => {
  const { pipeline, database, log, signal, report } = run;
  await using lock = await acquireWriterLock(database, `pipeline ${pipeline.name}`, {
    signal,
    // A crash of the server may lose a pipeline's newest transactions, never the log's before them:
    // those are applied again.
    synchronousCommit: "off",
    runtime: PLANS_BY_KEY,
    onStandby: () => report({ state: "standby", error: null }),
  });
  const { session } = lock;
  const start = await registerPipeline(session.sql, pipeline, await log.highWater());
  const { nextCheckpoint, last } = start;
  report({ nextCheckpoint, last, state: "running", error: null });
  // A pause from before the start holds from the first batch on.
  await run.paused.look();
  using own = followingAbort(signal);
  const inTurn = oneAtATime();
  const digests = digestChain();
  // Filling sets the digest that the next batch extends.
  const betweenBatches: Filling["betweenBatches"] = (work) =>
    inTurn(() => work().finally(digests.forget));
  const filled =
    start.layout < pipeline.layout
      ? fill({ ...run, held: session, signal: own.signal, betweenBatches })
      : undefined;
  const released = start.isHolding ? release({ ...run, signal: own.signal }, filled) : undefined;
  const place = run.openFeed?.();
  try {
    const apply = (batch: FactBatch) =>
      inTurn(() => applyBatch(session, pipeline, batch, digests, run.onHeld));
    await applyBatches(run, instrumented(run, apply), start, place, onProgress);
    // A run with a last checkpoint ends when the added tables are filled and held coins tried, too.
    if (!signal.aborted) await Promise.all([filled, released]);
  } finally {
    place?.close();
    own.abort();
    await Promise.all([filled, released]);
  }
};

/** Adds metrics, and a span in the trace of the batch's last checkpoint. */
const instrumented = (
  { pipeline: { name: pipeline }, telemetry: { figures, tracing } }: PipelineRun,
  apply: (batch: FactBatch) => Promise<number>,
): ((batch: FactBatch) => Promise<number>) => {
  const isSampled = batchSampler();
  return async (batch) => {
    const { first, last, facts } = batch;
    const beganMs = performance.now();
    const span = () => ({
      trace: batchTrace(last.digest),
      name: "apply facts",
      attributes: { pipeline, checkpoint: `${last.sequence}`, facts: facts.length },
    });
    const rows =
      tracing.isOn && isSampled(last.timestampMs)
        ? await traced(tracing, span(), () => apply(batch))
        : await apply(batch);
    const checkpoints = Number(last.sequence - first) + 1;
    figures.observe("holderbook_pipeline_batch_seconds", { pipeline }, secondsSince(beganMs));
    figures.observe("holderbook_pipeline_batch_checkpoints", { pipeline }, checkpoints);
    figures.observe("holderbook_pipeline_batch_facts", { pipeline }, facts.length);
    figures.count("holderbook_pipeline_checkpoints_total", { pipeline }, checkpoints);
    figures.count("holderbook_pipeline_rows_total", { pipeline }, rows);
    return rows;
  };
};

/** Fills the tables that an upgrade added; reports and retries errors. Never rejects. */
const fill = async (run: PipelineRun & Omit<Filling, "onProgress">): Promise<void> => {
  const { report, signal } = run;
  const onProgress = (filling: bigint) => report({ filling });
  const trouble = {
    ...databaseRetries,
    backoff: BACKOFF,
    // Existing rows are served meanwhile.
    remedy: (): Remedy => "retry",
    onTrouble: (error: Error) => report({ fillError: error }),
  };
  await retrying(() => fillAdded({ ...run, onProgress }), trouble, signal);
  if (!signal.aborted) report({ filling: null, fillError: null });
};

/**
 * Tries held coins once, after an upgrade's fill, which may exchange the tables. Retries lost connections; never rejects:
 * the other coins go on.
 */
const release = async (run: PipelineRun, filled: Promise<void> | undefined): Promise<void> => {
  const { signal, onTried = () => {}, onReleaseTrouble: onTrouble } = run;
  await filled;
  const trouble = {
    ...databaseRetries,
    backoff: BACKOFF,
    remedy: (): Remedy => "retry",
    onTrouble,
  };
  await retrying(() => releaseHeld({ ...run, onTried }), trouble, signal);
};

const applyBatches = async (
  run: PipelineRun,
  apply: (batch: FactBatch) => Promise<number>,
  start: WatermarkState,
  place: FeedPlace | undefined,
  onProgress: () => void,
): Promise<void> => {
  const { pipeline, tip, paused, last, maxFacts, signal, report } = run;
  const wanted = new Set(pipeline.facts);
  const log = readAhead(run);
  const totals = { facts: 0, rows: 0 };
  let next = start.nextCheckpoint;
  let nothingFound = false;
  while (!signal.aborted && (last === undefined || next <= last)) {
    if (paused.has(pipeline.name)) {
      report({ state: "paused" });
      await paused.resumed(pipeline.name, signal);
      if (signal.aborted) return;
      report({ state: "running" });
    }
    if (nothingFound || (tip.next !== null && next >= tip.next)) {
      await tip.beyond(next, ASK_AFTER_MS, signal);
      if (signal.aborted) return;
    }
    const batch = place?.take(next, wanted, maxFacts) ?? (await log.read(next));
    nothingFound = batch === null;
    if (batch === null) {
      onProgress();
      continue;
    }
    const rows = await apply(batch);
    next = batch.last.sequence + 1n;
    totals.facts += batch.facts.length;
    totals.rows += rows;
    onProgress();
    report({ state: "running", nextCheckpoint: next, last: batch.last, ...totals });
  }
};

/**
 * Reads batches from the log, the next one while the last one is being applied: at most two are in
 * memory.
 */
const readAhead = ({ pipeline, log, tip, maxFacts, maxBytes }: PipelineRun) => {
  let ahead: { readonly from: bigint; readonly batch: Promise<FactBatch | null> } | undefined;
  const request = (from: bigint) =>
    log.readFacts({ from, names: pipeline.facts, maxFacts, maxBytes });
  return {
    read: async (from: bigint): Promise<FactBatch | null> => {
      const batch = await (ahead?.from === from ? ahead.batch : request(from));
      ahead = undefined;
      const next = batch === null ? null : batch.last.sequence + 1n;
      if (next !== null && tip.next !== null && next < tip.next) {
        ahead = { from: next, batch: request(next) };
        // Its failure shows when it is used; until then it must not count as unhandled.
        ahead.batch.catch(() => undefined);
      }
      return batch;
    },
  };
};
