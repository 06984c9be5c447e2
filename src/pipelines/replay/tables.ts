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
export const replaySettings = {
  synchronousCommit: "off",
  runtime: { ...PLANS_BY_KEY, search_path: REPLAY_SCHEMA },
} as const;

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

export const dropTables = async (
  sql: Sql,
  place: typeof REPLAY_SCHEMA | typeof BEFORE_SCHEMA,
  names: readonly string[],
): Promise<void> => {
  await sql`select public.replay_drop(${place}, ${texts(names)}::text[])`;
};

/** Drops the tables of a second run, and of those that write some of them, too. */
export const discardRun = (sql: Sql, pipeline: Pipeline): Promise<void> =>
  dropTables(sql, REPLAY_SCHEMA, tableNames(groupOf(pipeline)));

/** Drops the tables of a second run; those that others write, too, only after the last of them. */
export const endRun = async ({ sql }: Tx, pipeline: Pipeline): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtext('holderbook replay'))`;
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

/** No former tables of these pipelines are kept. Nothing was changed. Stop. */
export class NoFormerTablesError extends Error {
  override readonly name = "NoFormerTablesError";
  readonly remedy: Remedy = "stop";

  constructor(pipelines: readonly Pipeline[]) {
    const names = pipelines.map(({ name }) => name).join(", ");
    super(
      `${names}: holderbook_before has no former tables; they stay there from \`replay --swap\` to \`replay drop\``,
    );
  }
}

/**
 * Makes the former tables those of the replay, which catch up and are exchanged as any replay's. By their owner.
 * @throws NoFormerTablesError (stop)
 */
export const resumeFormer = async (
  on: Pick<Session, "transaction">,
  pipelines: readonly Pipeline[],
): Promise<void> => {
  const names = tableNames(pipelines);
  await on.transaction(async ({ sql }) => {
    const found = await sql`
      select from pg_tables where schemaname = ${BEFORE_SCHEMA} and tablename = any(${texts(names)}::text[])`;
    if (found.length < names.length) throw new NoFormerTablesError(pipelines);
    await dropTables(sql, REPLAY_SCHEMA, names);
    for (const name of names) {
      await sql`alter table ${sql(`${BEFORE_SCHEMA}.${name}`)} set schema ${sql(REPLAY_SCHEMA)}`;
    }
  });
};

const LOCK_TIMEOUT_MS = 200;

/** Time for those who queued to get through before the next try. */
const PAUSE_MS = 200;

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
  for (;;) {
    signal.throwIfAborted();
    try {
      return await on.transaction(async (tx) => {
        await tx.sql.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        return await work(tx);
      });
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    await delay(PAUSE_MS, undefined, { signal });
  }
};
