// @module-tag thorough
import { expect, test } from "vitest";
import { createReaders, type Reads, read } from "../../src/database/readers.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";

const readersOf = (url: string, max: number) =>
  createReaders({ url, max, applicationName: "readers", readOnly: true });

/** The number of the server process that runs a statement; it takes about so long. */
const processOf = async (reads: Reads, seconds: number): Promise<number | undefined> => {
  const text = "select pg_backend_pid() as pid from (select pg_sleep($1::float8)) as slept";
  const [row] = await read<{ pid: number }>(reads, text, [seconds]);
  return row?.pid;
};

/** A request that short statements are expected of. */
const LIGHT = 100;

test("long statements wait for a free connection, one at a time on each", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 4);
  const reads = readers.for(undefined);
  const all = Promise.all([1, 2, 3, 4, 5].map(() => processOf(reads, 0.05)));
  expect(readers.waiting).toBe(3);
  expect(new Set(await all).size).toBe(2);
  expect(readers.waiting).toBe(0);
});

test("a queued statement is dropped when its caller hangs up", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 1);
  const running = processOf(readers.for(undefined), 0.2);
  const caller = new AbortController();
  const waiting = processOf(readers.for(caller.signal), 60);
  caller.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  expect(readers.waiting).toBe(0);
  await expect(processOf(readers.for(caller.signal), 0)).rejects.toThrow("gone");
  expect(await running).toBe(await processOf(readers.for(undefined), 0));
});

test("a long statement of a caller who has hung up is cancelled; its neighbours run on", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 4);
  // Connections that have answered before are known by number.
  await Promise.all([1, 2].map(() => processOf(readers.for(undefined), 0.05)));
  const caller = new AbortController();
  const long = processOf(readers.for(caller.signal), 60).catch((error: Error) => error.message);
  const neighbour = processOf(readers.for(undefined), 1.5);
  const next = processOf(readers.for(undefined), 0.5);
  await until(
    "both statements running",
    () => database.sql<{ count: number }[]>`
      select count(*)::int4 as count from pg_stat_activity
      where application_name = 'readers' and state = 'active' and query like '%pg_sleep%'`,
    ([row]) => row?.count === 2,
  );
  caller.abort(new Error("gone"));
  expect(await long).toContain("canceling statement");
  // The one that took its place on the same connection is not hit.
  expect(await next).toBeGreaterThan(0);
  expect(await neighbour).toBeGreaterThan(0);
});

test("a short statement whose caller hung up runs to its end, and its result is dropped", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 1);
  await processOf(readers.for(undefined), 0);
  const caller = new AbortController();
  const short = processOf(readers.for(caller.signal), 0.05);
  // It has a connection, and is on its way.
  await new Promise(setImmediate);
  caller.abort(new Error("gone"));
  // Ended by itself and not by Postgres; nothing is made of its rows.
  await expect(short).rejects.toThrow("gone");
});

test("a short statement never waits for a long one, and shares its connection", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 2);
  let ended = false;
  const caller = new AbortController();
  await processOf(readers.for(undefined), 0);
  const long = processOf(readers.for(caller.signal), 60).finally(() => {
    ended = true;
  });
  long.catch(() => undefined);
  const waiting = processOf(readers.for(caller.signal), 60);
  waiting.catch(() => undefined);
  const short = Array.from({ length: 20 }, () => processOf(readers.for(undefined, LIGHT), 0));
  expect(new Set(await Promise.all(short)).size).toBe(1);
  expect([ended, readers.waiting]).toEqual([false, 1]);
  caller.abort(new Error("gone"));
  await expect(processOf(readers.for(caller.signal, LIGHT), 0)).rejects.toThrow("gone");
  await expect(waiting).rejects.toThrow("gone");
  await expect(long).rejects.toThrow("canceling statement");
});

test("a statement wrongly taken for short delays the short ones only briefly", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 2);
  // Connections that have answered before are known by number.
  await Promise.all(
    [LIGHT, undefined].map((weight) => processOf(readers.for(undefined, weight), 0)),
  );
  const caller = new AbortController();
  const lasting = [1, 2, 3].map(() => processOf(readers.for(caller.signal, LIGHT), 20));
  for (const each of lasting) each.catch(() => undefined);
  const beganMs = performance.now();
  expect(await processOf(readers.for(undefined, LIGHT), 0)).toBeGreaterThan(0);
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  // They run on as long ones, which end with their caller.
  await until(
    "the first of them on its own connection",
    () => readers.waiting,
    (waiting) => waiting === 2,
  );
  caller.abort(new Error("gone"));
  const ends = (await Promise.allSettled(lasting)).map(({ status }) => status);
  expect(ends).toEqual(["rejected", "rejected", "rejected"]);
  expect(await processOf(readers.for(undefined), 0)).toBeGreaterThan(0);
});

test("a statement that failed after its first rows passes none of them to the next one", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 2);
  const upTo = (weight: number | undefined, last: number) =>
    read<{ n: number }>(
      readers.for(undefined, weight),
      "select 6 / (3 - n) as share, n from generate_series(1, $1::int4) as n",
      [last],
    );
  for (const weight of [LIGHT, undefined]) {
    expect(await upTo(weight, 2)).toHaveLength(2);
    await expect(upTo(weight, 5)).rejects.toThrow("division by zero");
    expect((await upTo(weight, 2)).map(({ n }) => n)).toEqual([1, 2]);
    expect(await upTo(weight, 0)).toEqual([]);
  }
});

test("short statements waiting for a place are dropped when their caller hangs up", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 2);
  const caller = new AbortController();
  const crowd = Array.from({ length: 200 }, () =>
    processOf(readers.for(caller.signal, LIGHT), 0.01).catch((error: Error) => error.message),
  );
  expect(readers.waiting).toBeGreaterThan(150);
  caller.abort(new Error("gone"));
  expect(readers.waiting).toBe(0);
  expect(new Set(await Promise.all(crowd))).toEqual(new Set(["gone"]));
});

test("connections terminated under load are all replaced", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 4);
  const stop = new AbortController();
  const worker = async (weight?: number) => {
    while (!stop.signal.aborted) {
      await processOf(readers.for(undefined, weight), 0).catch(() => undefined);
    }
  };
  const workers = Array.from({ length: 12 }, (_, n) => worker(n % 2 === 0 ? LIGHT : undefined));
  for (let round = 0; round < 60; round += 1) {
    await database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'readers'`;
  }
  stop.abort();
  await Promise.all(workers);
  expect(readers.waiting).toBe(0);
  const all = [LIGHT, undefined].flatMap((weight) =>
    Array.from({ length: 20 }, () => processOf(readers.for(undefined, weight), 0.01)),
  );
  expect((await Promise.all(all)).every((pid) => (pid ?? 0) > 0)).toBe(true);
}, 60_000);

test("a lost connection is replaced", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 1);
  const pid = await processOf(readers.for(undefined), 0);
  await database.sql`select pg_terminate_backend(${pid ?? 0})`;
  const another = await until(
    "a new connection",
    () => processOf(readers.for(undefined), 0).catch(() => undefined),
    (found) => found !== undefined,
  );
  expect(another).not.toBe(pid);
});

test("rows are the same on both kinds of connection: bytes in column order", async () => {
  await using database = await freshDatabase();
  await using readers = readersOf(database.url, 2);
  const text = "select n::text, null, 'ö' || $1::text from generate_series(1, 3) as n order by n";
  for (const weight of [LIGHT, undefined]) {
    const rows = await readers.for(undefined, weight).raw(text, ["x"]);
    expect(rows.map((row) => row.map((column) => column && `${column}`))).toEqual([
      ["1", null, "öx"],
      ["2", null, "öx"],
      ["3", null, "öx"],
    ]);
  }
  const caller = new AbortController();
  caller.abort(new Error("gone"));
  await expect(readers.for(caller.signal, LIGHT).raw(text, ["x"])).rejects.toThrow("gone");
});
