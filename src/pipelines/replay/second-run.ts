/** A pipeline's second run over the log, into the tables of a replay. */
import { getTableName } from "drizzle-orm";
import type { Session, Sql, Transactor } from "../../database/connect.ts";
import type { FactSource } from "../../log/log.ts";
import { applyBatch, digestChain } from "../apply.ts";
import type { Pipeline } from "../pipeline.ts";
import { registerPipeline, type WatermarkState } from "../register.ts";
import { discardRun, makeTables } from "./tables.ts";

export type SecondRun = {
  readonly pipeline: Pipeline;
  /** Of `replaySettings`. */
  readonly session: Session;
  readonly log: FactSource;
  /** Bounds of one batch. */
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Called after every batch, with the next checkpoint and how long the batch took. */
  readonly onBatch: (next: bigint, tookMs: number) => Promise<void>;
};

/** After a pass this short, milliseconds, the served pipelines may wait for the rest. */
const SHORT_PASS_MS = 1_000;

/** Makes the tables of pipelines, or resumes; returns the next checkpoint of each. */
export const beginRuns = async (
  session: Session,
  pipelines: readonly Pipeline[],
  log: FactSource,
): Promise<ReadonlyMap<Pipeline, bigint>> => {
  const { sql } = session;
  const make = async () => {
    await makeTables(sql, pipelines);
    const high = await log.highWater();
    const states = new Map<Pipeline, WatermarkState>();
    for (const each of pipelines) states.set(each, await registerPipeline(sql, each, high));
    return [...states];
  };
  let made = await make();
  if (made.some(([{ layout }, state]) => state.layout !== layout)) {
    await discardRun(sql, pipelines);
    made = await make();
  }
  for (const [pipeline, { last }] of made) {
    // What an earlier run left in tables that other pipelines write, too.
    if (last === null) await session.transaction(async (tx) => pipeline.reset?.(tx));
  }
  return new Map(made.map(([pipeline, { nextCheckpoint }]) => [pipeline, nextCheckpoint]));
};

/** Applies batches before `end`; returns the next checkpoint: `end`, or less if the rest has no facts. */
export const runUpTo = async (
  { pipeline, session, log, maxFacts, maxBytes, signal, onBatch }: SecondRun,
  from: bigint,
  end: bigint,
  on: Transactor = session,
): Promise<bigint> => {
  const digests = digestChain();
  let next = from;
  while (next < end && !signal.aborted) {
    const beganMs = performance.now();
    const batch = await log.readFacts({
      from: next,
      upTo: end - 1n,
      names: pipeline.facts,
      maxFacts,
      maxBytes,
    });
    // Checkpoints without facts up to the end have no mark in the log, and nothing to apply.
    if (batch === null) return next;
    await applyBatch(on, pipeline, batch, digests);
    next = batch.last.sequence + 1n;
    await onBatch(next, performance.now() - beganMs);
  }
  return next;
};

/** Follows the served pipeline until a pass is short, or `signal` aborts; returns the next checkpoint. */
export const approach = async (run: SecondRun, from: bigint): Promise<bigint> => {
  let next = from;
  for (let passMs = Number.POSITIVE_INFINITY; passMs > SHORT_PASS_MS; ) {
    const beganMs = performance.now();
    next = await runUpTo(run, next, await servedNext(run.session.sql, run.pipeline));
    if (run.signal.aborted) break;
    passMs = performance.now() - beganMs;
  }
  return next;
};

/** Next checkpoint of the served pipeline. */
export const servedNext = async (sql: Sql, { name, watermark }: Pipeline): Promise<bigint> => {
  const [row] = await sql<{ next_checkpoint: bigint }[]>`
    select next_checkpoint from public.${sql(getTableName(watermark))} where pipeline = ${name}`;
  if (row === undefined) throw new Error(`${name}: the watermark lost its row`);
  return row.next_checkpoint;
};
