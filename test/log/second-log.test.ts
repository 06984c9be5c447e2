import { expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { factSource, openLog } from "../../src/log/log.ts";
import {
  exchangeLogs,
  prepareSecondLog,
  SecondLogDiffersError,
  secondLogSettings,
} from "../../src/log/second-log.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { contentsOf } from "./contents.ts";
import { batch, fact, mark, PACKAGE } from "./facts.ts";

const ADDED = `0x${"ad".repeat(32)}`;
const JOINED = `0x${"70".repeat(32)}`;
const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** A log of checkpoints 0 to 29, in blocks of ten, with an object in each. */
const fill = async (database: Database, from = 0n) => {
  const log = await openLog(database, identity);
  for (let first = from; first < 30n; first += 10n) {
    const facts = Array.from({ length: 10 }, (_, i) =>
      fact(first + BigInt(i), i, { kind: "object" }),
    );
    const joined = first === 10n ? [{ address: JOINED, checkpoint: 12n, transaction: 0 }] : [];
    await log.append({ ...batch(first, first + 9n, facts), joined }, []);
  }
};

const secondOf = async ({ url, sql }: TestDatabase) =>
  connect({
    url,
    max: 2,
    applicationName: "test second log",
    runtime: await secondLogSettings(sql),
  });

/** Everything that the database knows of the log's tables, but for what is in them. */
const declarations = async ({ sql }: Database) => [
  ...(await sql`
    select indexdef as what from pg_indexes where schemaname = 'public' and tablename like 'log\\_%'
    union all
    select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
    from pg_constraint where conrelid::regclass::text like 'log\\_%'
    union all
    select pg_get_triggerdef(oid) from pg_trigger
    where tgrelid::regclass::text like 'log\\_%' and not tgisinternal
    union all
    select concat_ws(' ', table_name, ordinal_position, column_name, data_type, column_default, is_nullable)
    from information_schema.columns where table_schema = 'public' and table_name like 'log\\_%'
    order by what`),
];

test("a second log replaces the first one, declared the same, and nothing else changes", async () => {
  await using database = await freshDatabase();
  await fill(database);
  const declared = await declarations(database);
  const contents = await contentsOf(database);

  // The block that holds checkpoint 17 is read anew as a whole.
  await database.transaction((tx) => prepareSecondLog(tx, { address: ADDED, from: 17n }));
  await using second = await secondOf(database);
  expect(await factSource(second).highWater()).toMatchObject({
    nextCheckpoint: 10n,
    last: mark(9n),
    packages: [PACKAGE, ADDED],
  });
  const early = database.transaction(exchangeLogs);
  await expect(early).rejects.toThrow(SecondLogDiffersError);

  // Prepared again for the same, it keeps what it has.
  await fill(second, 10n);
  await database.transaction((tx) => prepareSecondLog(tx, { address: ADDED, from: 17n }));
  expect(await contentsOf(database)).toEqual(contents);
  await database.transaction(exchangeLogs);

  expect(await contentsOf(database)).toEqual(contents);
  expect(await declarations(database)).toEqual(declared);
  expect(await factSource(database).highWater()).toMatchObject({
    packages: [PACKAGE, ADDED, JOINED],
  });
  expect(await checkpointMark(database, 23n)).toEqual(mark(23n));
  await expect(database.sql`delete from log_facts`.execute()).rejects.toThrow(/append-only/);
});

test("a second log for another package or start is begun again", async () => {
  await using database = await freshDatabase();
  await fill(database);
  await database.transaction((tx) => prepareSecondLog(tx, { address: ADDED, from: 17n }));
  await database.transaction((tx) => prepareSecondLog(tx, { address: ADDED, from: 0n }));
  await using second = await secondOf(database);
  expect(await factSource(second).highWater()).toMatchObject({ nextCheckpoint: 0n, last: null });
});
