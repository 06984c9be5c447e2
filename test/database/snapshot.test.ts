import { expect, test } from "vitest";
import { createReaders, type Readers, type Reads, read } from "../../src/database/readers.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const readersOf = (url: string, max = 3) =>
  createReaders({ url, max, applicationName: "snapshots", readOnly: true });

/** A request that short statements are expected of. */
const LIGHT = 100;

/** A table with one number. */
const withNumber = async (database: TestDatabase): Promise<void> => {
  await database.sql`create table number (value int4 not null)`;
  await database.sql`insert into number values (1)`;
};

const numberOf = async (reads: Reads): Promise<number | undefined> =>
  (await read<{ value: number }>(reads, "select value from number", []))[0]?.value;

const sleep = (reads: Reads, seconds: number) =>
  read(reads, "select pg_sleep($1::float8)", [seconds]);

/** Connections of the readers that are inside a transaction. */
const inTransactions = async (database: TestDatabase): Promise<number> => {
  const [row] = await database.sql<{ count: number }[]>`
    select count(*)::int4 as count from pg_stat_activity
    where application_name = 'snapshots' and state like '%transaction%'`;
  return row?.count ?? 0;
};

const isQuiet = (database: TestDatabase) =>
  until(
    "no transaction left open",
    () => inTransactions(database),
    (count) => count === 0,
  );

test("all statements of a snapshot see the database as of the first one", async () => {
  await using database = await freshDatabase();
  await withNumber(database);
  await using readers = readersOf(database.url);
  for (const weight of [LIGHT, undefined]) {
    const snapshot = readers.snapshot(undefined, weight);
    const before = await numberOf(snapshot);
    await database.sql`update number set value = value + 1`;
    expect(await Promise.all([numberOf(snapshot), numberOf(snapshot)])).toEqual([before, before]);
    const [row] = await snapshot.raw("select value::text from number where $1", [true]);
    expect(row?.map(String)).toEqual([String(before)]);
    snapshot.end();
    expect(await numberOf(readers.for(undefined, weight))).toBe((before ?? 0) + 1);
    await expect(numberOf(snapshot)).rejects.toThrow("after the end of its snapshot");
  }
  await isQuiet(database);
});

test("a failing statement affects neither other statements of its snapshot nor the snapshot", async () => {
  await using database = await freshDatabase();
  await withNumber(database);
  await using readers = readersOf(database.url);
  const snapshot = readers.snapshot(undefined, LIGHT);
  const settled = await Promise.allSettled([
    read(snapshot, "select 1 / $1::int4 as share", [0]),
    numberOf(snapshot),
    read(snapshot, "select missing from number", []),
    numberOf(snapshot),
  ]);
  expect(settled.map(({ status }) => status)).toEqual([
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  await database.sql`update number set value = 2`;
  expect(await numberOf(snapshot)).toBe(1);
  await expect(read(snapshot, "select 1 / $1::int4 as share", [0])).rejects.toThrow("division");
  expect(await numberOf(snapshot)).toBe(1);
  snapshot.end();
  await isQuiet(database);
});

test("a snapshot without statements opens nothing, and may be closed twice", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url);
  const snapshot = readers.snapshot(undefined, LIGHT);
  snapshot.end();
  snapshot.end();
  const sessions = await database.sql`
    select from pg_stat_activity where application_name = 'snapshots'`;
  expect(sessions).toHaveLength(0);
});

test("snapshots of light requests never wait for heavy ones, each alone on its connection", async () => {
  await using database = await freshDatabase();
  await withNumber(database);
  await using readers = readersOf(database.url);
  await numberOf(readers.for(undefined));
  const caller = new AbortController();
  const heavy = readers.snapshot(caller.signal);
  const lasting = sleep(heavy, 60).catch((error: Error) => error.message);
  const waiting = readers.snapshot(caller.signal);
  const dropped = numberOf(waiting).catch((error: Error) => error.message);
  const light = Array.from({ length: 20 }, async () => {
    const snapshot = readers.snapshot(undefined, LIGHT);
    const [first, second] = await Promise.all([numberOf(snapshot), numberOf(snapshot)]);
    snapshot.end();
    return [first, second];
  });
  expect(await Promise.all(light)).toEqual(Array(20).fill([1, 1]));
  expect(readers.waiting).toBe(1);
  caller.abort(new Error("gone"));
  // What waits is dropped, what runs is cancelled; both give their connections back.
  expect(await dropped).toBe("gone");
  expect(await lasting).toContain("canceling statement");
  heavy.end();
  waiting.end();
  expect(await numberOf(readers.for(undefined))).toBe(1);
  await isQuiet(database);
});

/** The processes that answer a snapshot whose connection is ended after each statement, until one fails. */
const processesOf = async (readers: Readers, database: TestDatabase): Promise<number[]> => {
  const snapshot = readers.snapshot(undefined, LIGHT);
  const processes: number[] = [];
  try {
    for (;;) {
      const [row] = await read<{ pid: number }>(snapshot, "select pg_backend_pid() as pid", []);
      processes.push(row?.pid ?? 0);
      await database.sql`select pg_terminate_backend(${row?.pid ?? 0})`;
    }
  } catch {
    return processes;
  } finally {
    snapshot.end();
  }
};

test("a snapshot whose connection is lost fails, and the next one is complete", async () => {
  await using database = await freshDatabase();
  await withNumber(database);
  await using readers = readersOf(database.url);
  for (let round = 0; round < 20; round += 1) {
    // Never a statement on another connection, which would be another snapshot.
    expect(new Set(await processesOf(readers, database)).size).toBeLessThan(2);
  }
  const whole = async () => {
    const snapshot = readers.snapshot(undefined, LIGHT);
    return numberOf(snapshot)
      .catch(() => undefined)
      .finally(() => snapshot.end());
  };
  await until("a new connection", whole, (found) => found === 1);
});
