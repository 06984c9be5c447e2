/**
 * Tables of a replay: the same as the served ones, in a schema of their own, and exchanged for them without copying
 * a row (`drizzle/0020_replay.sql`).
 *
 * Readers lock the watermarks first, in the order of the pipelines (snapshot.ts, guarded-reads.ts), and so does an
 * exchange (database/brief-locks.ts): otherwise each would hold a table that the other waits for.
 */
import { getTableName } from "drizzle-orm";
import postgres from "postgres";
import { texts } from "../../database/column-arrays.ts";
import type { Sql, Tx } from "../../database/connect.ts";
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
export const groupOf = (
  pipeline: Pipeline,
  among: readonly Pipeline[] = ledgerPipelines,
): readonly Pipeline[] => {
  const shared = new Set(pipeline.sharedTables?.map(({ table }) => table));
  return among.filter(
    ({ name, sharedTables = [] }) =>
      name === pipeline.name || sharedTables.some(({ table }) => shared.has(table)),
  );
};

/**
 * Creates the tables, or resumes with those of an earlier run if their columns, constraints and triggers are still
 * those of the served ones.
 */
export const makeTables = async (sql: Sql, pipelines: readonly Pipeline[]): Promise<void> => {
  const names = tableNames(pipelines);
  if (await areOther(sql, REPLAY_SCHEMA, names)) await discardRun(sql, pipelines);
  await sql`select public.replay_make(${texts(names)}::text[])`;
};

/** Whether tables that are there have other columns, constraints or triggers than the served ones. */
const areOther = async (
  sql: Sql,
  place: ReplayPlace,
  names: readonly string[],
): Promise<boolean> => {
  const [row] = await sql<{ other: boolean }[]>`
    with parts as (
      select relname as name, part
      from pg_class c join pg_namespace n on n.oid = relnamespace, lateral (
        select concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attgenerated) as part
        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
        union all
        select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
        where conrelid = c.oid and contype in ('p', 'u', 'c')
        union all
        -- A disabled one is as good as none.
        select concat_ws(' ', replace(pg_get_triggerdef(oid), format(' ON %I.%I ', nspname, relname), ' ON '),
          nspname = ${place} and tgenabled = 'D')
        from pg_trigger where tgrelid = c.oid and not tgisinternal) as parts
      where nspname in ('public', ${place}) and relname = any(${texts(names)}::text[])
        and to_regclass(${place} || '.' || relname) is not null)
    select exists (select from parts group by name, part having count(*) < 2) as other`;
  return row?.other ?? false;
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

/**
 * Views or foreign keys of the operator depend on former tables. Nothing was changed. Stop: drop them, repeat this, and
 * make them again on the served tables; the message names them. An upgrade repeats it by itself.
 */
export class FormerTablesInUseError extends Error {
  override readonly name = "FormerTablesInUseError";
  readonly remedy: Remedy = "stop";

  constructor({ message, detail = "" }: postgres.PostgresError) {
    super(
      `${message}: ${detail.replaceAll("\n", "; ")}; drop it first, and make it again on the table in public afterwards`,
    );
  }
}

const DEPENDED_ON = "2BP01";

/** @throws FormerTablesInUseError (stop) */
export const dropTables = async (
  sql: Sql,
  place: ReplayPlace,
  names: readonly string[],
): Promise<void> => {
  try {
    await sql`select public.replay_drop(${place}, ${texts(names)}::text[])`;
  } catch (error) {
    const isUsed = error instanceof postgres.PostgresError && error.code === DEPENDED_ON;
    throw isUsed ? new FormerTablesInUseError(error) : error;
  }
};

/** Drops the tables of a second run, and of those that write some of them, too. */
export const discardRun = (sql: Sql, pipelines: readonly Pipeline[]): Promise<void> =>
  dropTables(
    sql,
    REPLAY_SCHEMA,
    tableNames([...pipelines, ...pipelines.flatMap((one) => groupOf(one))]),
  );

/** Exchanges tables in a transaction of `lockingBriefly`. */
export const exchangeTables = async ({ sql }: Tx, names: readonly string[]): Promise<void> => {
  await dropTables(sql, BEFORE_SCHEMA, names);
  await sql`select public.replay_exchange(${texts(names)}::text[])`;
};

/** Gives tables the rights that roles have on the served ones now. As their owner. */
export const grantAsServed = async (
  { sql }: Tx,
  place: ReplayPlace,
  names: readonly string[],
): Promise<void> => {
  const statements = await sql<{ statement: string }[]>`
    with tables as (
      select c.*, format('%I.%I', ${place}::text, relname) as made from pg_class c
      where relnamespace = 'public'::regnamespace and relname = any(${texts(names)}::text[]))
    select format('revoke all on %s from %I', made, rolname) as statement
    from tables join pg_class m on m.oid = to_regclass(made), aclexplode(m.relacl) a join pg_roles r on r.oid = grantee
    where grantee <> m.relowner
    union all
    select format('grant %s on %s to %I', string_agg(privilege_type, ', '), made, rolname)
    from tables, aclexplode(relacl) a join pg_roles r on r.oid = grantee
    where grantee <> relowner group by made, rolname`;
  for (const { statement } of statements) await sql.unsafe(statement);
};

/**
 * What others made on the former tables, and goes on with them: views, foreign keys, tables of publications; one text
 * each.
 */
export const leftOnFormer = async (
  sql: Sql,
  pipelines: readonly Pipeline[],
): Promise<readonly string[]> => {
  const rows = await sql<{ text: string }[]>`
    with tables as (
      select oid, relname from pg_class
      where relnamespace = to_regnamespace(${BEFORE_SCHEMA}) and relname = any(${texts(tableNames(pipelines))}::text[]))
    select distinct format('%s %s of %s', case relkind when 'm' then 'materialized view' else 'view' end,
      ev_class::regclass, t.relname) as text
    from tables t
      join pg_depend on refclassid = 'pg_class'::regclass and refobjid = t.oid and classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = objid join pg_class v on v.oid = ev_class
    where ev_class <> t.oid and relpersistence <> 't'
    union all
    select format('foreign key %I of %s to %s', conname, conrelid::regclass, relname)
    from tables t join pg_constraint on contype = 'f' and t.oid in (conrelid, confrelid)
    union all
    select format('publication %I of %s', pubname, relname)
    from tables t join pg_publication_rel on prrelid = t.oid join pg_publication p on p.oid = prpubid
    order by text`;
  return rows.map(({ text }) => text);
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
  const [row] = await sql<{ kept: bigint }[]>`
    select count(*) as kept from pg_class
    where relnamespace = to_regnamespace(${BEFORE_SCHEMA}) and relname = any(${texts(names)}::text[])`;
  if (row?.kept !== BigInt(names.length) || (await areOther(sql, BEFORE_SCHEMA, names))) {
    throw new NoFormerTablesError(pipelines);
  }
  for (const { watermark, layout } of pipelines) {
    const [mark] = await sql<{ layout: number }[]>`
      select layout from ${sql(`${BEFORE_SCHEMA}.${getTableName(watermark)}`)}`;
    if (mark?.layout !== layout) throw new NoFormerTablesError(pipelines);
  }
};

/** Exchanges the former tables for the served ones, as their owner, in a transaction of `lockingBriefly`. */
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
