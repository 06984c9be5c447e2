/** Keys that contain the coin: what a database that is divided by coin needs, and how an older one comes to them. */

import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { texts } from "../../src/database/column-arrays.ts";
import { migrate } from "../../src/database/migrate.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import {
  assertFormer,
  exchangeTables,
  groupOf,
  makeTables,
  NoFormerTablesError,
} from "../../src/pipelines/replay/tables.ts";
import { timelockObjectsPipeline } from "../../src/pipelines/timelock-objects.ts";
import { until } from "../lanes/until.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { projectedRows } from "./projected-rows.ts";

const ledger = createDemoLedger({ seed: "keys" });
const written = Array.from({ length: 160 }, () => {
  const { sequence, raw } = ledger.next();
  return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
});

/** Reads the ledger's next checkpoints, up to this one. */
const index = async (database: TestDatabase, end: number, maxFacts = 2_000) => {
  const following = await follow(database, ledger);
  const { nextCheckpoint = 0n } = (await readHighWater(database.sql)) ?? {};
  await following.append(written.slice(Number(nextCheckpoint), end));
  await following.project(maxFacts);
};

/** Tables with a coin type that do not belong to one coin, and why. */
const NOT_OF_A_COIN = {
  log_facts: "one order of all facts; some have no coin",
  operator_acts: "acts in the order of their making; some concern no coin",
  completeness: "certificates in the order of their making; some are of the whole contract",
  labels: "names in the order of their giving; those of wallets are of no coin",
  quarantines: "refusals in the order of their noting; kept when the coin is released",
};

const tablesOfCoins = async ({ sql }: TestDatabase): Promise<readonly string[]> => {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and attname = 'coin_type'
      and relname <> all(${texts(Object.keys(NOT_OF_A_COIN))}::text[]) order by 1`;
  return rows.map(({ name }) => name);
};

test("every table of coins has the coin in its primary key and in every unique index", async () => {
  await using database = await freshDatabase();
  const tables = await tablesOfCoins(database);
  expect(tables).toContain("shared_token_ranges");
  const unique = await database.sql<{ name: string; primary: boolean; coin: boolean }[]>`
    select indrelid::regclass::text as name, indisprimary as primary, exists (
      select from pg_attribute
      where attrelid = indrelid and attname = 'coin_type' and attnum = any(indkey::int2[])
    ) as coin
    from pg_index where indisunique and indrelid = any(${texts(tables)}::text[]::regclass[]::oid[])`;
  expect(unique.filter(({ coin }) => !coin)).toEqual([]);
  expect(unique.flatMap(({ name, primary }) => (primary ? name : [])).sort()).toEqual(tables);

  // An exception that has become none.
  const exceptions = await database.sql`
    select conrelid from pg_constraint join pg_attribute on attrelid = conrelid and attnum = any(conkey)
    where contype = 'p' and attname = 'coin_type'
      and conrelid = any(${texts(Object.keys(NOT_OF_A_COIN))}::text[]::regclass[]::oid[])`;
  expect(exceptions).toEqual([]);
});

/** Divides the tables of coins, as a distributed Postgres would: by a hash of the coin. */
const divide = async (database: TestDatabase): Promise<void> => {
  const tables = await tablesOfCoins(database);
  await database.sql`create schema undivided`;
  for (const name of tables) {
    const triggers = await database.sql<{ text: string }[]>`
      select pg_get_triggerdef(oid) as text from pg_trigger
      where tgrelid = ${`public.${name}`}::regclass and not tgisinternal`;
    await database.sql.unsafe(`
      alter table ${name} set schema undivided;
      create table ${name} (like undivided.${name} including all) partition by hash (coin_type)`);
    for (let part = 0; part < 4; part += 1) {
      await database.sql.unsafe(
        `create table ${name}_${part} partition of ${name} for values with (modulus 4, remainder ${part})`,
      );
    }
    for (const { text } of triggers) await database.sql.unsafe(text);
  }
};

test("tables that are divided by coin take the same keys and every statement, and get the same rows", async () => {
  await using whole = await freshDatabase();
  await index(whole, 160);
  await using divided = await freshDatabase();
  await divide(divided);
  await index(divided, 160, 30);
  const rows = await projectedRows(divided);
  expect(rows).toEqual(await projectedRows(whole));
  const [found] = await divided.sql<{ parts: bigint; revoked: boolean }[]>`
    select count(distinct tableoid) as parts, exists (select from role_events where not granted) as revoked
    from shared_token_objects`;
  expect(found?.parts).toBeGreaterThan(1n);
  expect(found?.revoked).toBe(true);
});

/** Takes a database back to the version before the migration. */
const takeBack = async ({ sql }: TestDatabase): Promise<void> => {
  const migrations = readMigrationFiles({ migrationsFolder: "drizzle" });
  const { hash } =
    migrations.find(({ sql: [first] }) => first?.includes("Keys of what belongs to a coin")) ?? {};
  await sql.unsafe(`
    alter table shared_token_objects drop constraint shared_token_objects_object_id_coin_type_pk,
      add constraint shared_token_objects_pkey primary key (object_id);
    alter table shared_token_ranges drop constraint shared_token_ranges_object_id_checkpoint_coin_type_pk,
      add constraint shared_token_ranges_object_id_checkpoint_pk primary key (object_id, checkpoint);
    alter table timelock_objects drop constraint timelock_objects_object_id_coin_type_pk,
      add constraint timelock_objects_pkey primary key (object_id);
    alter table timelock_ranges drop constraint timelock_ranges_object_id_checkpoint_coin_type_pk,
      add constraint timelock_ranges_object_id_checkpoint_pk primary key (object_id, checkpoint);
    alter table token_grants drop column coin_type, add constraint token_grants_pkey primary key (object_id);
    delete from drizzle.__drizzle_migrations where hash = '${hash}'`);
};

const keysIn = async ({ sql }: TestDatabase, schema = "public") => {
  const rows = await sql<{ key: string }[]>`
    select format('%s %s %s', relname, conname, pg_get_constraintdef(c.oid)) as key
    from pg_constraint c join pg_class t on t.oid = conrelid
    where contype = 'p' and relnamespace = ${schema}::regnamespace
      and relname in ('shared_token_objects', 'shared_token_ranges', 'timelock_objects', 'timelock_ranges', 'token_grants')
    order by 1`;
  return rows.map(({ key }) => key);
};

test("a database of the version before gets the keys and goes on as if it had always had them", async () => {
  await using fresh = await freshDatabase();
  await index(fresh, 120);
  const grants = (await projectedRows(fresh)).token_grants;
  expect(grants?.length).toBeGreaterThan(1);
  await using older = await copyOf(fresh);
  // A grant that the other pipeline does not have yet.
  const [late] = await older.sql<{ row: string }[]>`
    delete from timelock_objects where object_id = (select min(object_id) from token_grants)
    returning row_to_json(timelock_objects)::text as row`;
  await takeBack(older);
  expect(await keysIn(older)).not.toEqual(await keysIn(fresh));

  await migrate(older);
  expect(await keysIn(older)).toEqual(await keysIn(fresh));
  expect((await projectedRows(older)).token_grants).toEqual(grants);
  await older.sql`
    insert into timelock_objects
    select * from json_populate_record(null::timelock_objects, ${late?.row ?? ""}::text::json)`;
  await index(older, 160);
  await index(fresh, 160);
  expect(await projectedRows(older)).toEqual(await projectedRows(fresh));
});

test("the new keys' indexes are built while others write, and no reader waits behind a long one", async () => {
  await using older = await freshDatabase();
  await index(older, 60);
  await takeBack(older);
  const before = await keysIn(older);
  await using long = await older.session();
  await long.sql.unsafe("begin; lock table shared_token_objects in access share mode").simple();
  // As an interrupted migration left one.
  await older.sql.unsafe(
    "create unique index timelock_objects_object_id_coin_type_pk on timelock_objects (object_id, coin_type)",
  );
  await older.sql`
    update pg_index set indisvalid = false
    where indexrelid = 'timelock_objects_object_id_coin_type_pk'::regclass`;

  const migrating = migrate(older);
  const waits = () => older.sql<{ waits: boolean }[]>`
    select exists (select from pg_locks where mode = 'AccessExclusiveLock' and not granted
      and relation = 'shared_token_objects'::regclass) as waits`;
  for (let read = 0; read < 5; read += 1) {
    await until("the migration to wait for the reader", waits, ([row]) => row?.waits === true);
    // With a lock that is waited for to the end, this would not return before the long reader ends.
    await older.sql`select count(*) from shared_token_objects`;
    await older.sql`update shared_token_objects set balance = balance`;
  }
  expect(await keysIn(older)).toEqual(before);
  await long.sql`commit`;
  await migrating;
  await using fresh = await freshDatabase();
  expect(await keysIn(older)).toEqual(await keysIn(fresh));
});

test("tables of a replay that began before the keys changed are made again, and former ones refused", async () => {
  await using older = await freshDatabase();
  await index(older, 60);
  await takeBack(older);
  const group = groupOf(timelockObjectsPipeline, ledgerPipelines);
  await makeTables(older.sql, group);
  await older.transaction((tx) =>
    exchangeTables(tx, [
      "timelock_objects_watermark",
      "timelock_objects",
      "timelock_ranges",
      "grant_changes",
      "timelock_objects_digests",
      "balances",
    ]),
  );
  await makeTables(older.sql, group);
  await migrate(older);

  await expect(assertFormer(older.sql, [timelockObjectsPipeline])).rejects.toThrow(
    NoFormerTablesError,
  );
  await makeTables(older.sql, group);
  expect(await keysIn(older, "holderbook_replay")).toEqual(await keysIn(older));
});
