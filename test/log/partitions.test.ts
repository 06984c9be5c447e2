import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { checkStretch } from "../../src/log/check-chain.ts";
import { openLog } from "../../src/log/log.ts";
import { partitionsOf } from "../../src/log/partitions.ts";
import { exchangeLogs, prepareSecondLog, secondLogSettings } from "../../src/log/second-log.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually } from "../service/process.ts";
import { contentsOf, rowsOfLog } from "./contents.ts";
import { fact, filled, PACKAGE } from "./facts.ts";
import { undividedFacts } from "./facts-partitions.ts";

const MONTH = 10_000_000n;
const identity = { chainId: "chain-a", packages: [PACKAGE] };

const firstOnes = async ({ sql }: Pick<TestDatabase, "sql">) =>
  (await partitionsOf(sql)).map(({ from }) => from);

test("an append finds its partition, made a whole one before the log reaches it", async () => {
  await using database = await freshDatabase();
  const first = MONTH - 10n;
  const log = await openLog(database, { ...identity, firstCheckpoint: first });
  await log.append(filled(first, first + 4n, 3), []);
  expect(await firstOnes(database)).toEqual([0n, MONTH]);
  await log.append(filled(first + 5n, MONTH + 4n, 50), []);
  expect(await firstOnes(database)).toEqual([0n, MONTH, 2n * MONTH]);
  const batch = await log.readFacts({
    ...{ from: first, names: ["shared_token::Transfer"], maxFacts: 10_000, maxBytes: 1e9 },
  });
  expect(batch?.facts).toHaveLength(15 + 500);
  expect(batch?.facts.slice(-1)).toEqual([fact(MONTH + 4n, 49)]);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
});

test("a log that begins late has partitions from there on, and a guided batch has all that it spans", async () => {
  await using database = await freshDatabase();
  const first = 184_220_931n;
  const log = await openLog(database, { ...identity, firstCheckpoint: first });
  await log.append(filled(first, first, 1), []);
  expect(await firstOnes(database)).toEqual([0n, MONTH, 18n * MONTH, 19n * MONTH]);
  const { blocks, ...later } = filled(first + 25_000_000n, first + 25_000_000n, 40);
  await log.append({ ...later, first: first + 1n, blocks, guided: true }, []);
  expect((await firstOnes(database)).slice(2)).toEqual(
    [18n, 19n, 20n, 21n].map((month) => month * MONTH),
  );
});

test("every partition refuses to change or delete a fact", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, { ...identity, firstCheckpoint: MONTH - 1n });
  await log.append(filled(MONTH - 1n, MONTH + 1n, 1), []);
  const partitions = await partitionsOf(database.sql);
  expect(partitions).toHaveLength(3);
  for (const { name } of partitions) {
    for (const attempt of ["update ? set sender = 'x'", "delete from ?", "truncate ?"]) {
      await expect(database.sql.unsafe(attempt.replace("?", name))).rejects.toThrow("append-only");
    }
  }
});

test("a log of the version before becomes the first partition, without a scan under its lock", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, { ...identity, firstCheckpoint: 0n });
  await log.append(filled(0n, 99n, 40), []);
  const before = await rowsOfLog(database);
  await undividedFacts(database);
  {
    const settings = { url: database.url, max: 1, applicationName: "migrating" };
    await using migrating = connect(settings);
    expect(await migrate(migrating)).toEqual({ applied: 3 });
  }
  // Its statistics are written when its connections have ended.
  const scans = await eventually("the scan that validates the bound", async () => {
    const [seen] = await database.sql<{ scans: bigint; open: bigint }[]>`
      select seq_scan as scans,
             (select count(*) from pg_stat_activity where application_name = 'migrating') as open
      from pg_stat_user_tables where relname = 'log_facts_from_0'`;
    return seen !== undefined && seen.open === 0n && seen.scans > 0n
      ? { done: seen.scans }
      : { seen };
  });
  expect(scans).toBe(1n);
  // A version before may append while it is validated: for a month at the least.
  expect(await partitionsOf(database.sql)).toEqual([
    { name: "log_facts_from_0", from: 0n, before: 2n * MONTH },
    { name: "log_facts_from_20000000", from: 2n * MONTH, before: 3n * MONTH },
  ]);
  expect(await rowsOfLog(database)).toEqual(before);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
  for (const table of ["log_facts", "log_facts_from_0"]) {
    await expect(database.sql.unsafe(`delete from ${table}`)).rejects.toThrow("append-only");
  }
  await log.append(filled(100n, 199n, 40), []);
  expect(await checkStretch(database.sql, 99n)).toMatchObject({ fault: null, ended: true });
});

test("a migration that was ended after the bound was validated goes on with that bound", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, { ...identity, firstCheckpoint: 0n });
  await log.append(filled(0n, 9n, 1), []);
  await undividedFacts(database);
  await database.sql`
    alter table log_facts add constraint log_facts_end check (checkpoint < 70000000) not valid`;
  await migrate(database);
  expect((await partitionsOf(database.sql))[0]?.before).toBe(7n * MONTH);
});

test.each([
  ["the bound of the facts", ""],
  [
    "their move into a partition",
    "alter table log_facts add constraint log_facts_end check (checkpoint < 20000000)",
  ],
])("%s waits for a long reader without holding up others, and names it", async (_, bound) => {
  await using database = await freshDatabase();
  const log = await openLog(database, { ...identity, firstCheckpoint: 0n });
  await log.append(filled(0n, 9n, 1), []);
  await undividedFacts(database);
  await database.sql.unsafe(bound);
  await using long = await database.session();
  await long.sql.unsafe("begin; lock table log_facts in access share mode").simple();
  const [own] = await long.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const blocking = new Set<number>();
  const migrating = migrate(database, undefined, (blockers) => {
    for (const { pid } of blockers) blocking.add(pid);
  });
  const waits = () => database.sql<{ waits: boolean }[]>`
    select exists (select from pg_locks where mode = 'AccessExclusiveLock' and not granted
      and relation = 'log_facts'::regclass) as waits`;
  for (let read = 0; read < 3; read += 1) {
    await until("the migration to wait for the reader", waits, ([row]) => row?.waits === true);
    // With a lock that is waited for to the end, these would not return before the long reader ends.
    await database.sql`select count(*) from log_facts`;
    await database.sql`insert into log_facts select * from log_facts where false`;
  }
  expect([...blocking]).toContain(own?.pid);
  await long.sql`commit`;
  await migrating;
  expect(await firstOnes(database)).toEqual([0n, 2n * MONTH]);
});

test("a view and a publication of an operator's own are listed as following the former table", async () => {
  await using database = await freshDatabase();
  await undividedFacts(database);
  await database.sql`create view own_view as select checkpoint from log_facts`;
  await database.sql`create publication own_publication for table log_facts`;
  await migrate(database);
  const page = await readFile("docs/how-to/operations.md", "utf8");
  const [, listed = ""] = /### Facts in partitions\n[^#]*?```sql\n([^`]*)```/.exec(page) ?? [];
  expect(await database.sql.unsafe(listed)).toEqual([
    { name: "own_view" },
    { name: "own_publication" },
  ]);
  await database.sql`create or replace view own_view as select checkpoint from log_facts`;
  expect(await database.sql.unsafe(listed)).toEqual([{ name: "own_publication" }]);
});

test("a second log has partitions of its own, which take the place of the former ones", async () => {
  await using database = await freshDatabase();
  const first = MONTH - 10n;
  const log = await openLog(database, { ...identity, firstCheckpoint: first });
  await log.append(filled(first, MONTH - 1n, 2), []);
  await log.append(filled(MONTH, MONTH + 9n, 2), []);
  const contents = await contentsOf(database);
  await database.transaction((tx) =>
    prepareSecondLog(tx, { address: `0x${"ad".repeat(32)}`, from: MONTH }),
  );
  {
    const runtime = await secondLogSettings(database.sql);
    await using second = connect({ url: database.url, max: 2, applicationName: "second", runtime });
    const again = await openLog(second, { ...identity, firstCheckpoint: first });
    await again.append(filled(MONTH, MONTH + 9n, 2), []);
  }
  await database.transaction(exchangeLogs);
  expect(await contentsOf(database)).toEqual(contents);
  expect(await firstOnes(database)).toEqual([0n, MONTH, 2n * MONTH]);
  const schemas = await database.sql`
    select distinct relnamespace::regnamespace::text as schema from pg_class
    where starts_with(relname, 'log_facts_from_')`;
  expect(schemas).toEqual([{ schema: "public" }]);
  await log.append(filled(MONTH + 10n, MONTH + 19n, 2), []);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
});
