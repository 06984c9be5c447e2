/** Fills the product's own tables for the GraphQL measurements, in bulk, as many rows as are wanted. */
import type { Database } from "../src/database/connect.ts";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import {
  COIN,
  coinOfOwners,
  FIRST_MS,
  type GrowingTable,
  NEXT_CHECKPOINT,
  PACKAGE,
  ROWS,
  rolesOfOwners,
} from "./graphql-rows.ts";

const DECIMALS = 6;

/** Rows of one statement. */
const STEP = 500_000;

/**
 * What every measurement needs: the coins with their decimals, the log's and the pipelines' marks, and
 * the roles of `coinOfOwners` for each of these numbers.
 */
export const writeBasics = async (
  { sql }: Database,
  roleOwners: readonly number[],
): Promise<void> => {
  const next = NEXT_CHECKPOINT;
  await sql`
    insert into log_high_water
      (packages, first_checkpoint, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms)
    values (array[${PACKAGE}], 0, ${next}, ${next - 1}, 'digest', ${FIRST_MS})`;
  for (const { name } of ledgerPipelines) {
    await sql`
      insert into ${sql(`${name}_watermark`)}
        (pipeline, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms)
      values (${name}, ${next}, ${next - 1}, 'digest', ${FIRST_MS})`;
  }
  for (const coinType of [COIN, ...roleOwners.map(coinOfOwners)]) {
    await sql`
      insert into log_coins (coin_type, folded, is_security, decimals, decimals_source)
      values (${coinType}, ${coinType.toLowerCase()}, true, ${DECIMALS}, 'ledger')`;
  }
  for (const owners of roleOwners) {
    await sql.unsafe(
      `insert into wallet_roles (coin_type, owner, role, position) ${rolesOfOwners(owners)}`,
    );
  }
  await sql`vacuum analyze wallet_roles`;
};

/** Takes all rows from a table, and the room they took. */
export const emptyTable = async ({ sql }: Database, table: GrowingTable): Promise<void> => {
  await sql`truncate ${sql(table)}`;
};

/**
 * Replaces a table's rows by `count` new ones (a power of ten), with all its indexes and the statistics
 * that autovacuum would take, and has every page read once, so that none is met for the first time in a
 * measurement.
 */
export const fillTable = async (
  database: Database,
  table: GrowingTable,
  count: number,
): Promise<void> => {
  const { sql } = database;
  const row = ROWS[table](count);
  const [columns, values] = [Object.keys(row).join(", "), Object.values(row).join(", ")];
  await emptyTable(database, table);
  // Read like any other table; its journal would be as large again, and be thrown away.
  await sql`alter table ${sql(table)} set unlogged`;
  const buildIndexes = await dropIndexes(database, table);
  // Two at a time: a core each.
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
 * Takes the indexes from a table; what it returns makes them again, over all rows at once: keys that come
 * in no order make slow work of it row by row.
 */
const dropIndexes = async (
  database: Database,
  table: GrowingTable,
): Promise<() => Promise<void>> => {
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
