/**
 * Fills tables that an upgrade added, from the log, while the pipeline keeps running.
 *
 * A second run of the pipeline begins at the log's first checkpoint, on empty tables in a schema of its own
 * (`search_path` names it), and resumes after a restart. When it has reached the pipeline, the rows of the new
 * tables move over in one transaction, during which the pipeline waits and reads continue. The pipeline's
 * watermark shows the progress.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import type { Database, Session, Sql, Transactor, Tx } from "../database/connect.ts";
import { columnNames } from "../database/table-rows.ts";
import { fillingSchema, schemaMade } from "../database/work-schemas.ts";
import type { FactSource } from "../log/log.ts";
import { PLANS_BY_KEY } from "../projections/plans.ts";
import { applyBatch, digestChain } from "./apply.ts";
import { type Pipeline, tablesOf } from "./pipeline.ts";
import { dropFilling, registerPipeline } from "./register.ts";

export type Refill = {
  readonly pipeline: Pipeline;
  readonly database: Database;
  /**
   * The session that holds the pipeline's lock. Rows move over on it, so that none do after another process
   * has taken the pipeline over.
   */
  readonly held: Transactor;
  readonly log: FactSource;
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /**
   * Runs work while the pipeline has no batch in hand: one made from the rows before the move would be wrong
   * after it.
   */
  readonly betweenBatches: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called after every batch with the next checkpoint to be filled in. */
  readonly onProgress: (next: bigint) => void;
};

/** Facts of one batch at most: small, because the pipeline itself has priority. */
const MAX_FACTS_PER_BATCH = 5_000;

/** After a pass this short, milliseconds, the pipeline waits for the rest. */
const SHORT_PASS_MS = 1_000;

/** Interval of progress reports in the watermark, milliseconds. */
const REPORT_AFTER_MS = 1_000;

/** Tables that the second run writes. */
const allTablesOf = (pipeline: Pipeline): readonly PgTable[] => [
  ...tablesOf(pipeline),
  ...(pipeline.sharedTables ?? []).map(({ table }) => table),
  pipeline.watermark,
];

/** Tables that were added since the first layout, digests included. */
export const addedTables = ({ tables, digests }: Pipeline): readonly PgTable[] => [
  ...tables.filter(({ since }) => since > 1).map(({ table }) => table),
  digests,
];

/**
 * Fills the new tables of a pipeline whose lock this process holds, until they are complete or `signal`
 * aborts. Can be restarted at any time.
 */
export const refill = async (filling: Refill): Promise<void> => {
  const { pipeline, database, held, log, signal, betweenBatches } = filling;
  await using session = await database.session({
    synchronousCommit: "off",
    runtime: { ...PLANS_BY_KEY, search_path: `${fillingSchema(pipeline.name)}, public` },
  });
  await makeTables(session, pipeline);
  let { nextCheckpoint } = await registerPipeline(session.sql, pipeline, await log.highWater());
  const reportFilled = reporting(session, pipeline);
  await reportFilled(nextCheckpoint);
  for (let passMs = Number.POSITIVE_INFINITY; passMs > SHORT_PASS_MS; ) {
    const beganMs = performance.now();
    const reached = await nextOf(session.sql, pipeline);
    nextCheckpoint = await applyUpTo(filling, session, nextCheckpoint, reached, reportFilled);
    if (signal.aborted) return;
    passMs = performance.now() - beganMs;
  }
  await betweenBatches(() =>
    held.transaction(async (tx) => {
      const { sql } = tx;
      // Blocks another process that takes the pipeline over.
      await sql`lock table ${sql(getTableName(pipeline.watermark))} in share row exclusive mode`;
      // No progress reports here: the watermark row is locked.
      await applyUpTo(
        filling,
        session,
        nextCheckpoint,
        await nextOf(sql, pipeline),
        async () => {},
      );
      if (signal.aborted) return;
      await moveOver(tx, pipeline);
      await dropFilling(tx.sql, pipeline);
    }),
  );
};

const nextOf = async (sql: Sql, { name, watermark }: Pipeline): Promise<bigint> => {
  const [row] = await sql<{ next_checkpoint: bigint }[]>`
    select next_checkpoint from public.${sql(getTableName(watermark))} where pipeline = ${name}`;
  if (row === undefined) throw new Error(`${name}: the watermark lost its row`);
  return row.next_checkpoint;
};

/** Writes the progress of filling into the pipeline's watermark, at intervals. */
const reporting = ({ sql }: Session, { name, watermark }: Pipeline) => {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return async (next: bigint): Promise<void> => {
    if (performance.now() - reportedMs < REPORT_AFTER_MS) return;
    reportedMs = performance.now();
    await sql`
      update public.${sql(getTableName(watermark))} set filled_checkpoint = ${next - 1n}
      where pipeline = ${name}`;
  };
};

/** Applies batches before `end`; returns the next checkpoint: `end`, or less if the rest has no facts. */
const applyUpTo = async (
  { pipeline, log, maxFacts, maxBytes, signal, onProgress }: Refill,
  session: Session,
  from: bigint,
  end: bigint,
  reportFilled: (next: bigint) => Promise<void>,
): Promise<bigint> => {
  const digests = digestChain();
  let next = from;
  while (next < end && !signal.aborted) {
    const batch = await log.readFacts({
      from: next,
      upTo: end - 1n,
      names: pipeline.facts,
      maxFacts: Math.min(maxFacts, MAX_FACTS_PER_BATCH),
      maxBytes,
    });
    // Checkpoints without facts up to the end have no mark in the log, and nothing to apply.
    if (batch === null) return next;
    await applyBatch(session, pipeline, batch, digests);
    next = batch.last.sequence + 1n;
    onProgress(next);
    await reportFilled(next);
  }
  return next;
};

/** Makes the tables, or reuses those of an earlier run if layout and columns are the same. */
const makeTables = async (session: Session, pipeline: Pipeline): Promise<void> => {
  const schema = fillingSchema(pipeline.name);
  const watermark = `${schema}.${getTableName(pipeline.watermark)}`;
  const [found] = await session.sql<{ exists: boolean }[]>`
    select to_regclass(${watermark}) is not null as exists`;
  if (found?.exists) {
    const [row] = await session.sql<{ layout: number }[]>`
      select layout from ${session.sql(watermark)}`;
    const isOfLayout = row === undefined || row.layout === pipeline.layout;
    if (isOfLayout && (await hasSameColumns(session, pipeline))) return;
    await dropFilling(session.sql, pipeline);
  }
  await session.transaction(async ({ sql }) => {
    await sql.unsafe(schemaMade(schema));
    for (const table of allTablesOf(pipeline)) {
      const name = getTableName(table);
      await sql.unsafe(`create table ${schema}.${name} (like public.${name} including all)`);
    }
  });
};

const hasSameColumns = async ({ sql }: Session, pipeline: Pipeline): Promise<boolean> => {
  const names = allTablesOf(pipeline).map(getTableName);
  const [row] = await sql<{ same: boolean }[]>`
    select count(*) filter (where table_schema = 'public')
           = count(*) filter (where table_schema <> 'public') as same
    from information_schema.columns
    where table_schema in ('public', ${fillingSchema(pipeline.name)})
      and table_name = any(${texts(names)}::text[])`;
  return row?.same ?? false;
};

/** Replaces the incomplete rows of the new tables by those of the second run. */
const moveOver = async ({ sql }: Tx, pipeline: Pipeline): Promise<void> => {
  for (const table of addedTables(pipeline)) {
    const name = getTableName(table);
    const columns = columnNames(table).join(", ");
    await sql.unsafe(`delete from public.${name}`);
    await sql.unsafe(
      `insert into public.${name} (${columns}) select ${columns} from ${fillingSchema(pipeline.name)}.${name}`,
    );
  }
  await sql`
    update public.${sql(getTableName(pipeline.watermark))}
    set layout = ${pipeline.layout}, filled_checkpoint = null,
        digest = (select digest from ${sql(fillingSchema(pipeline.name))}.${sql(getTableName(pipeline.watermark))})
    where pipeline = ${pipeline.name}`;
};
