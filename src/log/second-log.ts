/**
 * A second log beside the log, in a schema of its own: read anew with more packages and then put in the
 * place of the first one, because nothing ever enters a log's past.
 *
 * To a connection whose search path begins with that schema, the second log is the log: whatever reads or
 * writes a log does so there. It stays when the process ends, and goes on from there the next time.
 */
import { getTableName } from "drizzle-orm";
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { checkpointMark } from "./blocks.ts";
import { LogNotOpenedError } from "./log-errors.ts";
import {
  logBlockChain,
  logBlocks,
  logChain,
  logCheckpoints,
  logCoinChain,
  logCoins,
  logCommittees,
  logFacts,
  logHeads,
  logHighWater,
  logInputChain,
  logInputs,
  logPackages,
  logProofs,
} from "./tables.ts";

const SECOND = "holderbook_second_log";
const FORMER = "holderbook_former_log";

// The hash chains over facts and the signed heads are of one log: a second one begins its own.
const TABLES = [
  logFacts,
  logCheckpoints,
  logBlocks,
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

/**
 * The second log does not end where the log does, or knows its last checkpoint by another digest. Nothing
 * was exchanged. Stop: read it once more, from a source of the log's chain.
 */
export class SecondLogDiffersError extends Error {
  override readonly name = "SecondLogDiffersError";
  readonly remedy: Remedy = "stop";

  constructor(first: string, second: string) {
    super(
      `the log ends with ${first}, but what was read anew ends with ${second}; give the command again with LEDGER_SOURCE on the log's chain`,
    );
  }
}

/** What a second log is read for. */
export type SecondLog = {
  /** Canonical: kept from the log's beginning on, beside those that the log was begun with. */
  readonly address: string;
  /** The first checkpoint to be read anew; what was before is copied. Reading may begin a little earlier. */
  readonly from: bigint;
};

/** Makes the second log with everything before `from`, or leaves one that was made for the same. */
export const prepareSecondLog = async ({ sql }: Tx, wanted: SecondLog): Promise<void> => {
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

/** Settings of a connection to which the second log is the log. */
export const secondLogSettings = async (sql: Sql) => ({
  search_path: `${SECOND}, ${await schemaOfLog(sql)}`,
});

/**
 * Puts the second log in the place of the log, which is gone then. Needs the writer locks of the log and of
 * all pipelines, and their reset in the same transaction.
 * @throws SecondLogDiffersError (stop)
 */
export const exchangeLogs = async ({ sql }: Tx): Promise<void> => {
  const home = await schemaOfLog(sql);
  // First: a watch that is chaining or checking the log holds this table, and then waits for the others.
  await sql.unsafe(`lock table ${home}.${getTableName(logChain)} in access exclusive mode`);
  const endOf = async (schema: string) => {
    const [end] = await sql<{ end: string }[]>`
      select concat_ws(' of digest ', next_checkpoint - 1, last_digest) as end
      from ${sql(schema)}.log_high_water`;
    return end?.end ?? "nothing";
  };
  const [first, second] = [await endOf(home), await endOf(SECOND)];
  if (first !== second) throw new SecondLogDiffersError(first, second);
  // Decimals that others told the log meanwhile.
  await sql.unsafe(`
    insert into ${SECOND}.log_coins as coin select * from ${home}.log_coins
    on conflict (coin_type) do update
    set decimals = excluded.decimals, decimals_source = excluded.decimals_source
    where coin.decimals is null`);
  for (const { grant } of await grantsOf(sql, home)) await sql.unsafe(grant);
  await sql.unsafe(`create schema ${FORMER}`);
  for (const table of TABLES) {
    await sql.unsafe(`alter table ${home}.${table} set schema ${FORMER}`);
    await sql.unsafe(`alter table ${SECOND}.${table} set schema ${home}`);
  }
  await sql.unsafe(`drop schema ${FORMER} cascade`);
  await sql.unsafe(`drop schema ${SECOND}`);
};

/** What other roles may do with the log, such as the service's own, as grants on the second one. */
const grantsOf = (sql: Sql, home: string) =>
  sql<{ grant: string }[]>`
    select format('grant %s on %I.%I to %s', privilege_type, ${SECOND}::text, relname,
                  case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as grant
    from pg_class, aclexplode(relacl)
    where relnamespace = to_regnamespace(${home}) and relname = any(${texts(TABLES)}::text[])
      and grantee <> relowner`;

/** Where the tables of the log are, quoted. */
const schemaOfLog = async (sql: Sql): Promise<string> => {
  const [row] = await sql<{ schema: string }[]>`
    select relnamespace::regnamespace::text as schema from pg_class
    where oid = 'log_facts'::regclass`;
  return row?.schema ?? "public";
};

/** Changes when a migration changes one of the tables: a second log of the former shape is of no use then. */
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

/** The table once more in the second log: with its keys, indexes and triggers under their own names. */
const makeLike = async (sql: Sql, home: string, table: string): Promise<void> => {
  const here = `${home}.${table}`;
  const there = `${SECOND}.${table}`;
  await sql.unsafe(`create table ${there} (like ${here} including all excluding indexes)`);
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

/** Fills the empty second log with what the log has before a checkpoint. */
const copyUpTo = async (sql: Sql, { address, from }: SecondLog): Promise<void> => {
  const start = await startOf(sql, from);
  const mark = await checkpointMarkOf(sql, start - 1n);
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
 * Where reading begins: at or before `from`, where no block of checkpoints is cut in two and the digest of
 * the checkpoint before is known, so that what is read anew is seen to follow it.
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

/** Time and digest of a checkpoint, if the log has them. */
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
