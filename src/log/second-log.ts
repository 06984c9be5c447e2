/**
 * A second log in its own schema: read again with more packages, then swapped in, because a log's
 * past is never changed.
 *
 * For a connection with that schema first in its search path it is the log. It survives a restart
 * and is continued.
 */
import { getTableName } from "drizzle-orm";
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { checkpointMark } from "./blocks.ts";
import { requireFacts } from "./facts-archived.ts";
import { LogNotOpenedError } from "./log-errors.ts";
import { makePartitions, partitionsOf } from "./partitions.ts";
import {
  logBlockChain,
  logBlocks,
  logChain,
  logCheckpoints,
  logCoinChain,
  logCoins,
  logCommittees,
  logFacts,
  logGuided,
  logHeads,
  logHighWater,
  logInputChain,
  logInputs,
  logPackages,
  logProofs,
} from "./tables.ts";

export const SECOND = "holderbook_second_log";
const FORMER = "holderbook_former_log";

// Hash chains and signed heads belong to one log; a second log starts its own.
const TABLES = [
  logFacts,
  logCheckpoints,
  logBlocks,
  logGuided,
  logPackages,
  logChain,
  logCoinChain,
  logBlockChain,
  logInputs,
  logInputChain,
  logHeads,
  logProofs,
  logCommittees,
  logHighWater,
  logCoins,
].map(getTableName);

const FACTS = getTableName(logFacts);

/**
 * The second log ends elsewhere, or with another digest. Nothing was exchanged. Stop; read it again
 * from a source of the log's chain.
 */
export class SecondLogDiffersError extends Error {
  override readonly name = "SecondLogDiffersError";
  readonly remedy: Remedy = "stop";

  constructor(first: string, second: string) {
    super(
      `the log ends with ${first}, but the second log ends with ${second}; run the command again with LEDGER_SOURCE on the log's chain`,
    );
  }
}

/** Purpose of a second log. */
type SecondLog = {
  /** Canonical; kept from the log's beginning on. */
  readonly address: string;
  /**
   * First checkpoint to read again; earlier ones are copied. Reading may start a little earlier.
   */
  readonly from: bigint;
};

/**
 * Creates the second log with everything before `from`, or keeps one made for the same purpose.
 * @throws FactsArchivedError (stop)
 */
export const prepareSecondLog = async ({ sql }: Tx, wanted: SecondLog): Promise<void> => {
  await requireFacts(sql, 0n);
  const home = await schemaOfLog(sql);
  const purpose = `${wanted.address} from ${wanted.from} as ${await shapeOf(sql, home)}`;
  const [found] = await sql<{ purpose: string | null }[]>`
    select obj_description(oid, 'pg_namespace') as purpose from pg_namespace
    where nspname = ${SECOND} and pg_has_role(nspowner, 'USAGE')`;
  if (found?.purpose === purpose) return;
  await sql.unsafe(`drop schema if exists ${SECOND} cascade`);
  await sql.unsafe(`create schema ${SECOND}`);
  await sql.unsafe(`comment on schema ${SECOND} is '${purpose}'`);
  for (const table of TABLES) await makeLike(sql, home, table);
  await copyUpTo(sql, wanted);
};

/** Connection settings that select the second log. */
export const secondLogSettings = async (sql: Sql) => ({
  search_path: `${SECOND}, ${await schemaOfLog(sql)}`,
});

/**
 * Replaces the log by the second log. Needs the writer locks of the log and all pipelines, and
 * their reset in the same transaction.
 * @throws SecondLogDiffersError (stop)
 */
export const exchangeLogs = async ({ sql }: Tx): Promise<void> => {
  const home = await schemaOfLog(sql);
  // First: a concurrent check holds this table, then waits for the others.
  await sql.unsafe(`lock table ${home}.${getTableName(logChain)} in access exclusive mode`);
  const endOf = async (schema: string) => {
    const [end] = await sql<{ end: string }[]>`
      select concat_ws(' of digest ', next_checkpoint - 1, last_digest) as end
      from ${sql(schema)}.log_high_water`;
    return end?.end ?? "nothing";
  };
  const [first, second] = [await endOf(home), await endOf(SECOND)];
  if (first !== second) throw new SecondLogDiffersError(first, second);
  // Decimals recorded meanwhile.
  await sql.unsafe(`
    insert into ${SECOND}.log_coins as coin select * from ${home}.log_coins
    on conflict (coin_type) do update
    set decimals = excluded.decimals, decimals_source = excluded.decimals_source
    where coin.decimals is null`);
  for (const { grant } of await grantsOf(sql, home)) await sql.unsafe(grant);
  const [former, later] = [await withPartitions(sql, home), await withPartitions(sql, SECOND)];
  await sql.unsafe(`create schema ${FORMER}`);
  for (const table of former) await sql.unsafe(`alter table ${home}.${table} set schema ${FORMER}`);
  for (const table of later) await sql.unsafe(`alter table ${SECOND}.${table} set schema ${home}`);
  await sql.unsafe(`drop schema ${FORMER} cascade`);
  await sql.unsafe(`drop schema ${SECOND}`);
};

/** Tables of a log in a schema, and the partitions of its facts, which do not move with them. */
const withPartitions = async (sql: Sql, schema: string): Promise<readonly string[]> => [
  ...TABLES,
  ...(await partitionsOf(sql, `${schema}.${FACTS}`)).map(({ name }) => name),
];

/** Privileges of other roles on the log, as grants on the second; its partitions get those of the facts. */
const grantsOf = (sql: Sql, home: string) =>
  sql<{ grant: string }[]>`
    select format('grant %s on %s to %s', privilege_type, second.oid::regclass,
                  case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as grant
    from pg_class first
    join pg_class second on second.relkind in ('r', 'p')
      and first.relname = case when second.relispartition then ${FACTS} else second.relname end,
      aclexplode(first.relacl)
    where first.relnamespace = to_regnamespace(${home}) and first.relname = any(${texts(TABLES)}::text[])
      and second.relnamespace = to_regnamespace(${SECOND}) and grantee <> first.relowner`;

/** Schema of the log's tables, quoted. */
const schemaOfLog = async (sql: Sql): Promise<string> => {
  const [row] = await sql<{ schema: string }[]>`
    select relnamespace::regnamespace::text as schema from pg_class
    where oid = 'log_facts'::regclass`;
  return row?.schema ?? "public";
};

/** Hash of the tables' definition: a migration makes a second log useless. */
const shapeOf = async (sql: Sql, home: string): Promise<string> => {
  const [row] = await sql<{ shape: string }[]>`
    select md5(string_agg(part, ' ' order by part)) as shape from (
      select attrelid::regclass || ' ' || attname || ' ' || atttypid::regtype as part
      from pg_attribute
      where attrelid = any(${texts(TABLES.map((table) => `${home}.${table}`))}::regclass[])
        and attnum > 0 and not attisdropped
      union all
      select indexdef from pg_indexes
      where schemaname = ${home} and tablename = any(${texts(TABLES)}::text[])
    ) as parts`;
  return row?.shape ?? "";
};

/** Copies a table's definition with keys, indexes and triggers. */
const makeLike = async (sql: Sql, home: string, table: string): Promise<void> => {
  const here = `${home}.${table}`;
  const there = `${SECOND}.${table}`;
  const partitioned = table === FACTS ? "partition by range (checkpoint)" : "";
  await sql.unsafe(
    `create table ${there} (like ${here} including all excluding indexes) ${partitioned}`,
  );
  const definitions = await sql<{ definition: string }[]>`
    select 'alter table ' || ${here}::text || ' add constraint ' || quote_ident(conname) || ' '
           || pg_get_constraintdef(oid) as definition
    from pg_constraint where conrelid = ${here}::regclass and contype in ('p', 'u')
    union all
    select pg_get_indexdef(indexrelid) from pg_index
    where indrelid = ${here}::regclass
      and not exists (select from pg_constraint where conindid = indexrelid)
    union all
    select pg_get_triggerdef(oid) from pg_trigger where tgrelid = ${here}::regclass and not tgisinternal`;
  for (const { definition } of definitions) await sql.unsafe(definition.replace(here, there));
};

/** Copies the log up to a checkpoint into the empty second log. */
const copyUpTo = async (sql: Sql, { address, from }: SecondLog): Promise<void> => {
  const start = await startOf(sql, from);
  const mark = await checkpointMarkOf(sql, start - 1n);
  const [{ first } = { first: start }] = await sql<{ first: bigint }[]>`
    select first_checkpoint as first from log_high_water`;
  await makePartitions(sql, first, start, `${SECOND}.${FACTS}`);
  await sql`
    insert into ${sql(SECOND)}.log_facts select * from log_facts where checkpoint < ${start}`;
  await sql`
    insert into ${sql(SECOND)}.log_checkpoints select * from log_checkpoints
    where checkpoint < ${start}`;
  await sql`
    insert into ${sql(SECOND)}.log_blocks select * from log_blocks where first_checkpoint < ${start}`;
  for (const table of [logInputs, logInputChain].map(getTableName)) {
    await sql`
      insert into ${sql(SECOND)}.${sql(table)} select * from ${sql(table)}
      where checkpoint < ${start}`;
  }
  await sql`
    insert into ${sql(SECOND)}.log_proofs select * from log_proofs where last_checkpoint < ${start}`;
  await sql`
    insert into ${sql(SECOND)}.log_guided select * from log_guided where last_checkpoint < ${start}`;
  await sql`insert into ${sql(SECOND)}.log_committees select * from log_committees`;
  await sql`
    insert into ${sql(SECOND)}.log_packages select * from log_packages
    where checkpoint < ${start}`;
  await sql`insert into ${sql(SECOND)}.log_coins select * from log_coins`;
  await sql`
    insert into ${sql(SECOND)}.log_high_water
      (chain_id, packages, first_checkpoint, next_checkpoint, last_checkpoint, last_digest,
       last_timestamp_ms, inputs_from, reached_ms, facts_total, bytes_total)
    select chain_id, packages || ${texts([address])}::text[], first_checkpoint, ${start},
           ${mark?.sequence ?? null}::int8, ${mark?.digest ?? null}::text,
           ${mark?.timestampMs ?? null}::int8, least(inputs_from, ${start}),
           (select max(reached_ms) from log_blocks where first_checkpoint < ${start}),
           coalesce(facts_total_before, 0), coalesce(bytes_total_before, 0)
    from log_high_water
    left join lateral (
      select c.facts_total as facts_total_before, c.bytes_total as bytes_total_before
      from log_checkpoints c where c.checkpoint < ${start} order by c.checkpoint desc limit 1
    ) before on true`;
};

/**
 * Where reading starts: at or before `from`, at the start of a block and after a checkpoint with a
 * known digest, so that links can be checked.
 */
const startOf = async (sql: Sql, from: bigint): Promise<bigint> => {
  let start = from;
  for (;;) {
    const [row] = await sql<{ first: bigint; block: bigint | null; known: bigint | null }[]>`
      select first_checkpoint as first,
        (select first_checkpoint from log_blocks
         where first_checkpoint < ${start} and first_checkpoint + count > ${start}
         order by first_checkpoint desc limit 1) as block,
        (select max(checkpoint) + 1 from log_checkpoints where checkpoint < ${start}) as known
      from log_high_water`;
    if (row === undefined) throw new LogNotOpenedError();
    if (start <= row.first) return row.first;
    if (row.block !== null) start = row.block;
    else if ((await checkpointMarkOf(sql, start - 1n)) !== null) return start;
    else start = row.known ?? row.first;
  }
};

/** Time and digest of a checkpoint, if known. */
const checkpointMarkOf = async (sql: Sql, checkpoint: bigint) => {
  if (checkpoint < 0n) return null;
  const mark = await checkpointMark({ sql }, checkpoint);
  if (mark !== null) return mark;
  const [row] = await sql<{ digest: string; timestamp_ms: bigint }[]>`
    select digest, timestamp_ms from log_checkpoints where checkpoint = ${checkpoint}`;
  return row === undefined
    ? null
    : { sequence: checkpoint, digest: row.digest, timestampMs: row.timestamp_ms };
};
