/** Bulk-fills the product's tables for the GraphQL measurements. */
import type { Database } from "../src/database/connect.ts";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import {
  COIN,
  coinOfOwners,
  FIRST_CHECKPOINT,
  FIRST_MS,
  type Fill,
  type GrowingTable,
  NEXT_CHECKPOINT,
  PACKAGE,
  ROWS,
  rolesOfOwners,
} from "./graphql-rows.ts";

const DECIMALS = 6;

const STEP = 500_000;

/**
 * Common rows: coins with decimals, watermarks, and the roles of `coinOfOwners` for each number.
 */
export const writeBasics = async (
  { sql }: Database,
  roleOwners: readonly number[],
): Promise<void> => {
  const next = NEXT_CHECKPOINT;
  await sql`
    insert into log_high_water
      (packages, first_checkpoint, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms)
    values (array[${PACKAGE}], ${FIRST_CHECKPOINT}, ${next}, ${next - 1}, 'digest', ${FIRST_MS})`;
  for (const { name, layout } of ledgerPipelines) {
    await sql`
      insert into ${sql(`${name}_watermark`)}
        (pipeline, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms, layout)
      values (${name}, ${next}, ${next - 1}, 'digest', ${FIRST_MS}, ${layout})`;
  }
  await sql`
    insert into log_blocks (first_checkpoint, count, times, digests, reached_ms, filled)
    values (${next - 1}, 1, int8send(${FIRST_MS}), decode(repeat('00', 32), 'hex'), ${FIRST_MS}, false)`;
  for (const coinType of [COIN, ...roleOwners.map(coinOfOwners)]) {
    await sql`
      insert into log_coins (coin_type, folded, is_security, decimals, decimals_source)
      values (${coinType}, ${coinType.toLowerCase()}, true, ${DECIMALS}, 'ledger')`;
  }
  await sql`
    insert into tokens (coin_type, first_checkpoint, symbol, name)
    values (${COIN}, ${FIRST_CHECKPOINT}, 'BENCH', 'Bench coin')`;
  for (const owners of roleOwners) {
    await sql.unsafe(
      `insert into wallet_roles (coin_type, owner, role, position) ${rolesOfOwners(owners)}`,
    );
  }
  await sql`vacuum analyze wallet_roles`;
};

export const emptyTable = (database: Database, table: string): Promise<void> =>
  database.transaction(async ({ sql }) => {
    // Past the triggers that keep the log.
    await sql`set local session_replication_role = replica`;
    await sql`truncate ${sql(table)}`;
  });

/** As `fill`, with the table's own rows. */
export const fillTable = (database: Database, table: GrowingTable, count: number): Promise<void> =>
  fill(database, { table, row: ROWS[table] }, count);

/**
 * Replaces a table's rows by `count` (a power of ten) or as many as the fill says, rebuilds indexes, runs the statistics of
 * autovacuum, and reads every page once, so that no measurement meets a cold page.
 */
export const fill = async (
  database: Database,
  { table, row: rowOf, rows = (size) => size }: Fill,
  size: number,
): Promise<void> => {
  const { sql } = database;
  const count = rows(size);
  const row = rowOf(count);
  const [columns, values] = [Object.keys(row).join(", "), Object.values(row).join(", ")];
  await emptyTable(database, table);
  // Reads are the same; its WAL would double the writes.
  await sql`alter table ${sql(table)} set unlogged`;
  const buildIndexes = await dropIndexes(database, table);
  // Two at a time, one per core.
  for (let from = 0; from < count; from += 2 * STEP) {
    const steps = [from, from + STEP].filter((begin) => begin < count);
    await Promise.all(
      steps.map((begin) =>
        sql.unsafe(`
          insert into ${table} (${columns}) select ${values}
          from generate_series(${begin}, ${Math.min(count, begin + STEP) - 1}) as n`),
      ),
    );
  }
  await buildIndexes();
  await sql`vacuum analyze ${sql(table)}`;
  await sql`create extension if not exists pg_prewarm`;
  await sql`
    select pg_prewarm(${table}::regclass), sum(pg_prewarm(indexrelid)) from pg_index
    where indrelid = ${table}::regclass`;
};

/**
 * Drops the indexes; the returned function rebuilds them in bulk, since random keys are slow row by
 * row.
 */
const dropIndexes = async (database: Database, table: string): Promise<() => Promise<void>> => {
  const { sql } = database;
  const indexes = await sql<{ drop: string; make: string }[]>`
    select coalesce('alter table ' || indrelid::regclass || ' drop constraint ' || conname,
                    'drop index ' || indexrelid::regclass) as drop,
           coalesce('alter table ' || indrelid::regclass || ' add constraint ' || conname || ' '
                    || pg_get_constraintdef(c.oid), pg_get_indexdef(indexrelid)) as make
    from pg_index left join pg_constraint c on conindid = indexrelid
    where indrelid = ${table}::regclass`;
  for (const { drop } of indexes) await sql.unsafe(drop);
  return () =>
    database.transaction(async (tx) => {
      await tx.sql`set local maintenance_work_mem = '1GB'`;
      for (const { make } of indexes) await tx.sql.unsafe(make);
    });
};

/** Since this checkpoint every second object has its current state. */
const CHANGED_AT = NEXT_CHECKPOINT - 1_000_000;

/** A checkpoint in the middle of `fillHistory`'s history. */
export const MIDDLE = CHANGED_AT - 1_000_000;

/**
 * Adds a past: every balance moved once before and once after the middle, and every second object
 * and grant differed in the middle.
 */
export const fillHistory = async ({ sql }: Database): Promise<void> => {
  const early = (NEXT_CHECKPOINT - 9_000_000).toString();
  for (const [table, part] of [
    ["token_changes", "token_balance"],
    ["grant_changes", "grant_balance"],
  ] as const) {
    await sql.unsafe(`
      insert into ${table}
        (coin_type, owner, position, cause, change, balance_after, tx_digest, timestamp_ms)
      select coin_type, owner, at::int8 * 1000000000, 'TRANSFER', ${part},
             case when at = ${early} then ${part} else ${part} + 1 end, 'digest', ${FIRST_MS}
      from balances, unnest(array[${early}, ${CHANGED_AT}]) as at where ${part} > 0`);
  }
  for (const [live, ranges] of [
    ["shared_token_objects", "shared_token_ranges"],
    ["timelock_objects", "timelock_ranges"],
  ] as const) {
    await sql.unsafe(`
      with numbered as (select object_id, row_number() over (order by object_id) as n from ${live})
      insert into ${ranges} select o.*, ${CHANGED_AT} from ${live} o join numbered using (object_id)
      where n % 2 = 0`);
    await sql.unsafe(`
      update ${live} o set checkpoint = ${CHANGED_AT} from ${ranges} r
      where r.object_id = o.object_id`);
  }
  for (const table of [
    "token_changes",
    "grant_changes",
    "shared_token_ranges",
    "timelock_ranges",
  ]) {
    await sql.unsafe(`vacuum analyze ${table}`);
  }
  await sql`vacuum analyze shared_token_objects, timelock_objects`;
};
