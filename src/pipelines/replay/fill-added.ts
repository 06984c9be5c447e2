/**
 * Fills tables that an upgrade added or whose rows it changed, from the log, while the pipeline keeps running: a
 * second run writes all tables of the pipeline, and once it has caught up, these are exchanged for the served ones,
 * which are empty or have the former rows. The pipeline's watermark shows the progress.
 */
import { getTableName } from "drizzle-orm";
import type { Database, Session, Sql, Transactor } from "../../database/connect.ts";
import { BEFORE_SCHEMA, REPLAY_SCHEMA } from "../../database/work-schemas.ts";
import type { FactSource } from "../../log/log.ts";
import type { Pipeline } from "../pipeline.ts";
import { noteReplay, noteState } from "./progress.ts";
import { approach, beginRun, runUpTo, type SecondRun, servedNext } from "./second-run.ts";
import {
  dropTables,
  endRun,
  exchangeTables,
  exchanging,
  indexTables,
  lockReplays,
  replaySettings,
} from "./tables.ts";

export type Filling = {
  readonly pipeline: Pipeline;
  readonly database: Database;
  /**
   * The session that holds the pipeline's lock. Tables are exchanged on it, so that none are after another process
   * has taken the pipeline over.
   */
  readonly held: Transactor;
  /** Layout that the served rows are complete in. */
  readonly layout: number;
  readonly log: FactSource;
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /**
   * Runs work while the pipeline has no batch in hand: one made from the rows before the exchange would be wrong
   * after it.
   */
  readonly betweenBatches: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called after every batch with the next checkpoint to be filled in. */
  readonly onProgress: (next: bigint) => void;
};

/** Interval of progress reports in the watermark, milliseconds. */
const REPORT_AFTER_MS = 1_000;

/** Names of the tables that were added or changed since a layout, digests included. */
export const addedSince = ({ tables, digests }: Pipeline, layout: number): readonly string[] =>
  [...tables.filter(({ since }) => since > layout).map(({ table }) => table), digests].map(
    getTableName,
  );

/**
 * Fills the new tables of a pipeline whose lock this process holds, until they are complete or `signal`
 * aborts. Can be restarted at any time.
 */
export const fillAdded = async (filling: Filling): Promise<void> => {
  const { pipeline, database, held, layout, signal, betweenBatches, onProgress } = filling;
  await using session = await database.session(replaySettings());
  const report = reporting(session.sql, pipeline);
  const onBatch = async (next: bigint) => {
    onProgress(next);
    of = (await report(next)) ?? of;
    notes.reached(pipeline, { next, of });
  };
  const run: SecondRun = { ...filling, session, onBatch };
  let next = await beginRun(run);
  let of = await servedNext(session.sql, pipeline);
  await using notes = await noteReplay(database, "upgrade", new Map([[pipeline, { next, of }]]));
  await report(next);
  next = await approach(run, next);
  if (signal.aborted) return;
  const added = addedSince(pipeline, layout);
  await indexTables(session.sql, added);
  // No progress reports at the end: the watermark row is locked.
  const last: SecondRun = { ...run, onBatch: async () => {} };
  const whole: Pick<Session, "transaction"> = {
    transaction: (work) => betweenBatches(() => held.transaction(work)),
  };
  await exchanging(whole, signal, async (tx) => {
    const { sql } = tx;
    await lockReplays(tx);
    // Blocks another process that takes the pipeline over.
    await sql`lock table ${sql(getTableName(pipeline.watermark))} in share row exclusive mode`;
    next = await runUpTo(last, next, await servedNext(sql, pipeline));
    if (signal.aborted) return;
    // Waits for snapshots of the pipeline: none sees both sets of tables.
    await sql`lock table ${sql(getTableName(pipeline.watermark))} in access exclusive mode`;
    await exchangeTables(tx, added);
    await dropTables(sql, BEFORE_SCHEMA, added);
    const watermark = getTableName(pipeline.watermark);
    await sql`
      update public.${sql(watermark)} set layout = ${pipeline.layout}, filled_checkpoint = null, rebuilds = rebuilds + 1,
        digest = (select digest from ${sql(`${REPLAY_SCHEMA}.${watermark}`)})
      where pipeline = ${pipeline.name}`;
    await endRun(tx, pipeline);
    await noteState(sql, [pipeline], "swapped");
  });
};

/** Writes the progress of filling into the pipeline's watermark, at intervals; then returns its next checkpoint. */
const reporting = (sql: Sql, { name, watermark }: Pipeline) => {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return async (next: bigint): Promise<bigint | undefined> => {
    if (performance.now() - reportedMs < REPORT_AFTER_MS) return undefined;
    reportedMs = performance.now();
    const [row] = await sql<{ next_checkpoint: bigint }[]>`
      update public.${sql(getTableName(watermark))} set filled_checkpoint = ${next - 1n}
      where pipeline = ${name} returning next_checkpoint`;
    return row?.next_checkpoint;
  };
};
