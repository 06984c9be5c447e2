import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect, databaseRemedy, type Session } from "../../src/database/connect.ts";
import {
  DatabaseBusyError,
  SessionLostError,
  TransactionRolledBackError,
} from "../../src/database/database-error.ts";
import { sessionPool } from "../../src/database/session-pool.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const withTable = async () => {
  const database = await freshDatabase();
  await database.sql`create table t (a int primary key)`;
  return database;
};

const rowsOf = async (database: TestDatabase) =>
  (await database.sql<{ a: number }[]>`select a from t order by a`).map(({ a }) => a);

/** Ends a session's connection the way an administrator or a crash does. */
const kill = async (database: TestDatabase, session: Session) => {
  const [row] = await session.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  await killPid(database, row?.pid);
};

const killPid = async (database: TestDatabase, pid: number | undefined) => {
  await database.sql`select pg_terminate_backend(${pid ?? null}::int)`;
};

test("a transaction that throws leaves nothing, and one that returns leaves everything", async () => {
  await using database = await withTable();
  const fails = database.transaction(async (tx) => {
    await tx.sql`insert into t values (1)`;
    throw new Error("no");
  });
  await expect(fails).rejects.toThrow("no");
  await database.transaction(async (tx) => {
    await tx.sql`insert into t values (2)`;
    await tx.execute("insert into t values (3)");
  });
  expect(await rowsOf(database)).toEqual([2, 3]);
});

test("after its connection died, nothing that a transaction sends reaches the database", async () => {
  await using database = await withTable();
  await using session = await database.session();
  const late: string[] = [];

  const broken = session.transaction(async ({ sql }) => {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await sql`insert into t values (1)`;
    await killPid(database, row?.pid);
    await until("the loss", () => session.lost.aborted, Boolean);
    // A pool would have reconnected by now; these would be committed one by one.
    for (const a of [2, 3]) {
      await sql`insert into t values (${a})`.catch((error: Error) => late.push(error.message));
    }
  });

  await expect(broken).rejects.toThrow(SessionLostError);
  expect(late).toHaveLength(2);
  expect(await rowsOf(database)).toEqual([]);
  await expect(session.transaction(async () => 1)).rejects.toThrow(SessionLostError);
});

test("a connection that dies under a statement fails the transaction with remedy retry", async () => {
  await using database = await withTable();
  await using session = await database.session();
  const [row] = await session.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;

  const broken = session.transaction(async ({ sql }) => {
    await sql`insert into t values (1)`;
    await sql`select pg_sleep(30)`;
  });
  const failed = broken.catch((error: unknown) => error);
  await until(
    "the statement to run",
    () =>
      database.sql`select 1 from pg_stat_activity where pid = ${row?.pid ?? 0} and wait_event = 'PgSleep'`,
    (found) => found.length > 0,
  );
  await killPid(database, row?.pid);

  expect(databaseRemedy(await failed)).toBe("retry");
  expect(await rowsOf(database)).toEqual([]);
});

test("a connection that dies under a single statement is a lost session with remedy retry", async () => {
  await using database = await withTable();
  await using session = await database.session();
  const [backend] = await session.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const lasting = session.statement((sql) => sql`select pg_sleep(60)`);
  const failed = expect(lasting).rejects.toThrow(SessionLostError);
  await killPid(database, backend?.pid);
  await failed;
  // And so is whatever comes later.
  const later = await session.statement((sql) => sql`select 1`).catch((error: unknown) => error);
  expect(later).toBeInstanceOf(SessionLostError);
  expect(databaseRemedy(later)).toBe("retry");
});

test("a swallowed failure inside a transaction is not mistaken for a commit", async () => {
  await using database = await withTable();
  const swallowing = database.transaction(async ({ sql }) => {
    await sql`insert into t values (1)`;
    await sql`insert into t values (1)`.catch(() => undefined);
  });
  await expect(swallowing).rejects.toThrow(TransactionRolledBackError);
  expect(await rowsOf(database)).toEqual([]);
});

test("the pool replaces lost sessions and keeps its limit", async () => {
  await using database = await freshDatabase({ max: 2 });
  const pidOf = () =>
    database.transaction(async ({ sql }) => {
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await delay(5);
      return row?.pid ?? 0;
    });

  const before = new Set(await Promise.all(Array.from({ length: 12 }, pidOf)));
  expect(before.size).toBe(2);
  for (const pid of before) await killPid(database, pid);
  const pids = await until(
    "new sessions",
    () => Promise.allSettled(Array.from({ length: 12 }, pidOf)),
    (results) => results.every((result) => result.status === "fulfilled"),
  );
  const after = new Set(pids.map((result) => (result.status === "fulfilled" ? result.value : 0)));
  expect(after.size).toBeLessThanOrEqual(2);
  expect([...after].filter((pid) => before.has(pid))).toEqual([]);
});

test("a task that waited too long leaves the queue, and no further session opens for it", async () => {
  await using database = await freshDatabase();
  let opened = 0;
  const open = () => {
    opened += 1;
    return database.session();
  };
  const pool = sessionPool(1, open, 50);
  const finish = Promise.withResolvers<void>();
  const first = pool.use(() => finish.promise);
  const late = await Promise.allSettled([1, 2, 3].map(() => pool.use(async () => "ran")));
  expect(late.map((result) => result.status === "rejected" && result.reason)).toEqual(
    [1, 2, 3].map(() => expect.any(DatabaseBusyError)),
  );
  finish.resolve();
  await first;
  expect(await Promise.all([1, 2, 3].map(() => pool.use(async () => "ran")))).toHaveLength(3);
  expect(opened).toBe(1);
  await pool.close();
});

test("a session lock ends with its session, and only then", async () => {
  await using database = await freshDatabase();
  const first = await database.session();
  await using second = await database.session();
  const tryLock = async (session: Session) => {
    const [row] = await session.sql<{ held: boolean }[]>`select pg_try_advisory_lock(7) as held`;
    return row?.held;
  };
  expect(await tryLock(first)).toBe(true);
  expect(await tryLock(second)).toBe(false);
  await kill(database, first).catch(() => undefined);
  expect(
    await until(
      "the lock",
      () => tryLock(second),
      (held) => held === true,
    ),
  ).toBe(true);
});

test("a listener receives notifications again after losing its connection", async () => {
  await using database = await freshDatabase();
  const ending = new AbortController();
  const heard: (string | null)[] = [];
  database.listen("news", (payload) => heard.push(payload), ending.signal);
  await until(
    "listening",
    () => heard.length,
    (count) => count === 1,
  );

  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where query like 'listen%' and datname = current_database()`;
  await until(
    "listening again",
    () => heard.length,
    (count) => count === 2,
  );
  await database.sql`select pg_notify('news', 'hello')`;
  await until(
    "the news",
    () => heard.at(-1),
    (last) => last === "hello",
  );
  ending.abort();
  expect(heard).toEqual([null, null, "hello"]);
});

test("statement timeout and read-only access hold for sessions that ask for them", async () => {
  await using database = await withTable();
  await using careful = connect({
    url: database.url,
    max: 1,
    applicationName: "careful",
    statementTimeoutMs: 50,
    readOnly: true,
  });
  await expect(careful.sql`select pg_sleep(5)`).rejects.toMatchObject({ code: "57014" });
  await expect(careful.sql`insert into t values (1)`).rejects.toMatchObject({ code: "25006" });
  await expect(
    careful.transaction(async ({ sql }) => sql`insert into t values (1)`),
  ).rejects.toMatchObject({ code: "25006" });
});

test("an absent server is an error with remedy retry", async () => {
  const nowhere = { url: "postgres://u:p@127.0.0.1:1/x", applicationName: "nowhere", max: 1 };
  await using database = connect(nowhere);
  const failures = [
    database.session(),
    database.transaction(async () => 1),
    database.transaction(async () => 1),
  ];
  for (const result of await Promise.allSettled(failures)) {
    expect(result.status === "rejected" && databaseRemedy(result.reason)).toBe("retry");
  }
});
