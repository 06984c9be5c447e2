/**
 * Replays the log's facts, with the pipelines' own code, into empty tables beside the served ones:
 * the expected rows, independent of the served ones.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Db, Session, Sql, Transactor } from "../../database/connect.ts";
import { within } from "../../database/session.ts";
import { emptySchema, schemaMade } from "../../database/work-schemas.ts";
import { decimalsIn } from "../../ledger/reading/read.ts";
import { upsertCoins } from "../../log/coins.ts";
import type { Fact } from "../../log/fact.ts";
import { readHighWater } from "../../log/high-water.ts";
import { readFacts } from "../../log/read-facts.ts";
import { logCoins } from "../../log/tables.ts";
import { applyBatch, digestChain } from "../../pipelines/apply.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../../pipelines/pipeline.ts";
import { registerPipeline } from "../../pipelines/register.ts";
import { sharedTokenObjectsPipeline } from "../../pipelines/shared-token-objects.ts";
import { PLANS_BY_KEY } from "../../projections/plans.ts";

/** A schema that outlives the process, or the session's temporary one. */
export type FoldedSchema = "holderbook_folded" | "pg_temp";

/** Batch limits: facts and bytes held in memory. */
const BATCH_BOUNDS = { maxFacts: 5_000, maxBytes: 8 * 1024 * 1024 };

export const sharedTables: readonly PgTable[] = [
  ...new Set(ledgerPipelines.flatMap((pipeline) => pipeline.sharedTables ?? [])),
].map(({ table }) => table);

/** All replayed tables: the pipelines' own, shared ones, and the coins. */
export const foldedTables: readonly PgTable[] = [
  ...ledgerPipelines.flatMap(tablesOf),
  ...sharedTables,
  logCoins,
];

/** Session settings that resolve table names to the replayed tables, and the log's to the log. */
export const foldedSettings = (place: FoldedSchema) => ({
  synchronousCommit: "off" as const,
  runtime: { ...PLANS_BY_KEY, search_path: `${place}, public` },
});

/** Changes when the replayed tables no longer match the log or the schema. */
const purposeOf = async (sql: Sql): Promise<string> => {
  const rebuilds = ledgerPipelines.map(
    ({ watermark }) => `coalesce((select rebuilds from public.${getTableName(watermark)}), 0)`,
  );
  const [row] = await sql.unsafe<{ purpose: string }[]>(`
    select concat_ws(' ', 'of rebuilds', ${rebuilds.join(", ")}, 'and packages', (
        select md5(packages::text || first_checkpoint) from public.log_high_water),
      'as', (select md5(string_agg(concat_ws(' ', attrelid::regclass, attname, atttypid), ' ' order by attrelid, attnum))
        from pg_attribute where attnum > 0 and not attisdropped and attrelid = any(array[${foldedTables
          .map((table) => `'public.${getTableName(table)}'::regclass::oid`)
          .join(", ")}]))) as purpose`);
  return row?.purpose ?? "";
};

/** Creates the empty tables, or resumes an earlier process's. */
export const prepareFolding = async (session: Session, place: FoldedSchema): Promise<void> => {
  const purpose = await purposeOf(session.sql);
  if (place !== "pg_temp") {
    const [found] = await session.sql<{ purpose: string | null }[]>`
      select obj_description(to_regclass(${`${place}.${MARKED}`}), 'pg_class') as purpose`;
    if (found?.purpose === purpose) return;
  }
  await session.transaction(async ({ sql }) => {
    if (place !== "pg_temp") {
      await dropFolded(sql);
      await sql.unsafe(schemaMade(place));
    }
    const watermarks = ledgerPipelines.map(({ watermark }) => watermark);
    for (const table of [...foldedTables, ...watermarks]) {
      const name = getTableName(table);
      // Unlogged: a crash restarts the replay, so WAL would be wasted.
      const kind = place === "pg_temp" ? "" : "unlogged";
      await sql.unsafe(`create ${kind} table ${place}.${name} (like public.${name} including all)`);
    }
    await sql.unsafe(`comment on table ${place}.${MARKED} is '${purpose}'`);
  });
};

/** Its comment holds the purpose. */
const MARKED = getTableName(logCoins);

/** Frees the disk space. */
export const dropFolded = (sql: Sql): Promise<void> => emptySchema(sql, "holderbook_folded");

/** Progress of the served pipeline, in the statement's snapshot. */
export type Served = {
  /** The rows contain every checkpoint below; null: never run. */
  readonly next: bigint | null;
  readonly layout: number;
  readonly isRebuilding: boolean;
  readonly rebuilds: number;
  /** JSON of the coins that it holds. */
  readonly held: string;
  /** First checkpoint without digests, because a coin is held; null if all have theirs. */
  readonly undigestedFrom: bigint | null;
};

export const servedBy = async (sql: Sql, { watermark }: Pipeline): Promise<Served> => {
  const [row] = await sql.unsafe<Served[]>(`
    select next_checkpoint as next, layout, rebuilding_to is not null as "isRebuilding", rebuilds,
           coalesce(held, '{}')::text as held, undigested_from as "undigestedFrom"
    from public.${getTableName(watermark)}`);
  return (
    row ?? {
      next: null,
      layout: 0,
      isRebuilding: false,
      rebuilds: 0,
      held: "{}",
      undigestedFrom: null,
    }
  );
};

/** `stale`: the served pipeline went back; discard the replay. */
export type Folded = "ended" | "more" | "stale";

/**
 * Replays one more batch of a pipeline, at most to the served progress.
 * @param on the session of `foldedSettings`, or a transaction on it
 * @throws UndecodableFactError (stop)
 */
export const foldOn = async (
  on: Transactor,
  pipeline: Pipeline,
  served: Served,
): Promise<Folded> => {
  const { next: end, undigestedFrom } = served;
  if (end === null) return "ended";
  const log = await on.statement((sql) => readHighWater(sql));
  if (log === undefined) return "ended";
  // The replay begins at the log's beginning, whatever the served watermark is.
  const { nextCheckpoint: from } = await on.statement((sql) =>
    registerPipeline(sql, pipeline, log),
  );
  if (from > end) return "stale";
  const isFirst = from === log.firstCheckpoint;
  if (!(await on.statement((sql) => holdAsServed(sql, pipeline, served, isFirst)))) return "stale";
  if (from === end) return "ended";
  const request = { from, upTo: end - 1n, names: pipeline.facts, ...BATCH_BOUNDS };
  const batch = await on.statement((sql) => readFacts(sql, request));
  if (batch === null) return "ended";
  if (pipeline !== coinsPipeline) await applyBatch(on, pipeline, batch, digestChain());
  else {
    await on.transaction(async (tx) => {
      await applyBatch(within(tx), pipeline, batch, digestChain());
      await foldCoins(tx.sql, batch.facts, from, batch.last.sequence);
    });
  }
  if (undigestedFrom !== null) {
    await on.statement((sql) => leaveUndigested(sql, pipeline, undigestedFrom));
  }
  return batch.last.sequence + 1n < end ? "more" : "ended";
};

/**
 * Holds the coins that the served pipeline holds, so that a deployed fix is no difference before the release.
 * @returns false when it has got facts of a held coin since that are left out here
 */
const holdAsServed = async (
  sql: Sql,
  { watermark }: Pipeline,
  { rebuilds, held }: Served,
  isFirst: boolean,
): Promise<boolean> => {
  const moved = await sql.unsafe(
    `update ${getTableName(watermark)} set rebuilds = $1, held = nullif(coalesce(held, '{}') || $2::jsonb, '{}')
     where $3::boolean or rebuilds = $1 and not exists (
       select from jsonb_each($2::jsonb) as now where (now.value ->> 'from')::int8 > (held -> now.key ->> 'from')::int8)
     returning 1`,
    [rebuilds, held, isFirst],
  );
  return moved.length === 1;
};

/** As a pipeline that holds a coin: its release makes the digests from there on. */
const leaveUndigested = async (
  sql: Sql,
  { watermark, digests }: Pipeline,
  from: bigint,
): Promise<void> => {
  const [of, made] = [getTableName(watermark), getTableName(digests)];
  await sql.unsafe(
    `with gone as (delete from ${made} where checkpoint >= $1)
     update ${of} set undigested_from = $1,
       digest = (select digest from ${made} where checkpoint < $1 order by checkpoint desc limit 1)
     where next_checkpoint > $1`,
    [`${from}`],
  );
};

/** The pipeline that needs coin metadata. */
export const coinsPipeline: Pipeline = sharedTokenObjectsPipeline;

/** As an append does: the log has facts of the contract, and metadata of the framework. */
const foldCoins = async (sql: Sql, facts: readonly Fact[], first: bigint, last: bigint) => {
  const rows = await sql<{ coin_type: string }[]>`
    select distinct coin_type from log_facts
    where public.log_has(${first}) and checkpoint between ${first} and ${last} and coin_type ~ '^0x[0-9a-f]+::'
      and type !~ '^0x0*2::'`;
  await upsertCoins(sql, new Set(rows.map((row) => row.coin_type)), facts.flatMap(decimalsIn));
};

/** Adds coins of facts beyond the pipeline: an append adds them immediately. */
export const foldCoinsFrom = async ({ sql }: Db, first: bigint): Promise<void> => {
  const log = await readHighWater(sql);
  if (log === undefined) return;
  for (let from = first; from < log.nextCheckpoint; ) {
    const batch = await readFacts(sql, {
      from,
      upTo: log.nextCheckpoint - 1n,
      names: coinsPipeline.facts,
      ...BATCH_BOUNDS,
    });
    if (batch === null) return;
    await foldCoins(sql, batch.facts, from, batch.last.sequence);
    from = batch.last.sequence + 1n;
  }
};
