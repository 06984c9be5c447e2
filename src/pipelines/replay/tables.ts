/**
 * Tables of a replay: the same as the served ones, in a schema of their own, and exchanged for them without copying
 * a row (`drizzle/0020_replay.sql`).
 *
 * An exchange waits at most `LOCK_TIMEOUT_MS` for each lock, since statements queue behind it, and is tried again.
 * Readers lock the watermarks first, in the order of the pipelines (snapshot.ts, guarded-reads.ts), and so does an
 * exchange: otherwise each would hold a table that the other waits for.
 */
import { setTimeout as delay } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import postgres from "postgres";
import { texts } from "../../database/column-arrays.ts";
import type { Session, Sql, Tx } from "../../database/connect.ts";
import { BEFORE_SCHEMA, REPLAY_SCHEMA } from "../../database/work-schemas.ts";
import { PLANS_BY_KEY } from "../../projections/plans.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { ledgerPipelines } from "../ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../pipeline.ts";

/**
 * Settings of a session whose table names resolve to the replay's tables, and to no others: once those are dropped
 * its statements fail, instead of writing into the served ones.
 */
export const replaySettings = (place: ReplayPlace = REPLAY_SCHEMA) =>
  ({
    synchronousCommit: "off",
    runtime: { ...PLANS_BY_KEY, search_path: place },
  }) as const;

/** Where the tables of a replay are: made for it, or former ones that catch up. */
export type ReplayPlace = typeof REPLAY_SCHEMA | typeof BEFORE_SCHEMA;

/** Names of all tables that these pipelines write, watermarks first. */
export const tableNames = (pipelines: readonly Pipeline[]): readonly string[] => [
  ...new Set(
    [
      ...pipelines.map(({ watermark }) => watermark),
      ...pipelines.flatMap(tablesOf),
      ...pipelines.flatMap(({ sharedTables = [] }) => sharedTables.map(({ table }) => table)),
    ].map(getTableName),
  ),
];

/** A pipeline and those that it shares tables with: they are exchanged together, at one checkpoint. */
export const groupOf = (pipeline: Pipeline): readonly Pipeline[] => {
  const shared = new Set(pipeline.sharedTables?.map(({ table }) => table));
  return ledgerPipelines.filter(
    ({ name, sharedTables = [] }) =>
      name === pipeline.name || sharedTables.some(({ table }) => shared.has(table)),
  );
};

/** Creates the tables, or resumes with those of an earlier run if their columns are still the served ones. */
export const makeTables = async (sql: Sql, pipeline: Pipeline): Promise<void> => {
  const names = tableNames([pipeline]);
  const [row] = await sql<{ other: boolean }[]>`
    select exists (
      select from information_schema.columns
      where table_schema in ('public', ${REPLAY_SCHEMA}) and table_name = any(${texts(names)}::text[])
        and to_regclass(${REPLAY_SCHEMA} || '.' || table_name) is not null
      group by table_name, column_name, data_type having count(*) < 2) as other`;
  if (row?.other) await discardRun(sql, pipeline);
  await sql`select public.replay_make(${texts(names)}::text[])`;
};

/** Creates the secondary indexes, which are cheaper once the rows are in. */
export const indexTables = async (sql: Sql, names: readonly string[]): Promise<void> => {
  await sql`select public.replay_index(${texts(names)}::text[])`;
};

/** Comment of the tables that the functions accept: a migration or `markProjections` sets it. */
const PROJECTION = "holderbook: projection";

/** Marks tables of later pipelines as projections. By their owner. */
export const markProjections = async (sql: Sql): Promise<void> => {
  const unmarked = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relname = any(${texts(tableNames(ledgerPipelines))}::text[])
      and obj_description(oid, 'pg_class') is distinct from ${PROJECTION}`;
  for (const { name } of unmarked) {
    await sql.unsafe(`comment on table public.${name} is '${PROJECTION}'`);
  }
};

export const dropTables = async (
  sql: Sql,
  place: ReplayPlace,
  names: readonly string[],
): Promise<void> => {
  await sql`select public.replay_drop(${place}, ${texts(names)}::text[])`;
};

/** Drops the tables of a second run, and of those that write some of them, too. */
export const discardRun = (sql: Sql, pipeline: Pipeline): Promise<void> =>
  dropTables(sql, REPLAY_SCHEMA, tableNames(groupOf(pipeline)));

/** Taken before any table's lock: `replay_make` and `replay_index` hold it while they work. */
export const lockReplays = async ({ sql }: Tx): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtext('holderbook replay'))`;
};

/**
 * Drops the tables of a second run; those that others write, too, only after the last of them. In a transaction that
 * `lockReplays`.
 */
export const endRun = async ({ sql }: Tx, pipeline: Pipeline): Promise<void> => {
  const own = [pipeline.watermark, ...tablesOf(pipeline)].map(getTableName);
  await dropTables(sql, REPLAY_SCHEMA, own);
  const others = groupOf(pipeline).map(({ watermark }) => getTableName(watermark));
  const [row] = await sql<{ running: boolean }[]>`
    select exists (select from pg_tables
      where schemaname = ${REPLAY_SCHEMA} and tablename = any(${texts(others)}::text[])) as running`;
  if (!row?.running) await discardRun(sql, pipeline);
};

/** Exchanges tables in a transaction of `exchanging`. */
export const exchangeTables = async ({ sql }: Tx, names: readonly string[]): Promise<void> => {
  await dropTables(sql, BEFORE_SCHEMA, names);
  await sql`select public.replay_exchange(${texts(names)}::text[])`;
};

/** No former tables of these pipelines are kept, or an upgrade has changed their form. Nothing was changed. Stop. */
export class NoFormerTablesError extends Error {
  override readonly name = "NoFormerTablesError";
  readonly remedy: Remedy = "stop";

  constructor(pipelines: readonly Pipeline[]) {
    const names = pipelines.map(({ name }) => name).join(", ");
    super(
      `${names}: holderbook_before has no former tables of this version; they stay there from \`replay --swap\` to \`replay drop\`, \`rebuild --yes\` or an upgrade of these tables`,
    );
  }
}

/** @throws NoFormerTablesError (stop) */
export const assertFormer = async (sql: Sql, pipelines: readonly Pipeline[]): Promise<void> => {
  const names = tableNames(pipelines);
  const [row] = await sql<{ same: bigint; all: bigint }[]>`
    select count(distinct table_name) as all, count(distinct table_name) filter (where same) as same
    from (
      select table_name, bool_and(count = 2) over (partition by table_name) as same
      from (select table_name, count(*) from information_schema.columns
            where table_schema in ('public', ${BEFORE_SCHEMA}) and table_name = any(${texts(names)}::text[])
            group by table_name, column_name, data_type) as columns) as tables`;
  if (row?.same !== BigInt(names.length)) throw new NoFormerTablesError(pipelines);
  for (const { watermark, layout } of pipelines) {
    const [mark] = await sql<{ layout: number }[]>`
      select layout from ${sql(`${BEFORE_SCHEMA}.${getTableName(watermark)}`)}`;
    if (mark?.layout !== layout) throw new NoFormerTablesError(pipelines);
  }
};

/** Exchanges the former tables for the served ones, as their owner, in a transaction of `exchanging`. */
export const exchangeFormer = async ({ sql }: Tx, names: readonly string[]): Promise<void> => {
  await dropTables(sql, REPLAY_SCHEMA, names);
  for (const name of names) {
    await sql`lock table ${sql(`public.${name}`)} in access exclusive mode`;
  }
  for (const name of names) {
    await sql`alter table ${sql(`public.${name}`)} set schema ${sql(REPLAY_SCHEMA)}`;
    await sql`alter table ${sql(`${BEFORE_SCHEMA}.${name}`)} set schema public`;
    await sql`alter table ${sql(`${REPLAY_SCHEMA}.${name}`)} set schema ${sql(BEFORE_SCHEMA)}`;
  }
};

const LOCK_TIMEOUT_MS = 200;

/** Time for those who queued to get through before the next try; twice as long each time, up to the longest. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** `lock_not_available`, `deadlock_detected`. */
const isLocked = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && /^(55P03|40P01)$/.test(error.code);

/**
 * Runs a transaction that locks served tables, again and again until it got all locks.
 * @throws the signal's reason when it aborts
 */
export const exchanging = async <T>(
  on: Pick<Session, "transaction">,
  signal: AbortSignal,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
    signal.throwIfAborted();
    try {
      return await on.transaction(async (tx) => {
        await tx.sql.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        return await work(tx);
      });
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    await delay(pauseMs, undefined, { signal });
  }
};
