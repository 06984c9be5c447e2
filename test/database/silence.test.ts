// @module-tag thorough
/** Connections over which nothing comes any more, although nobody closed them. */
import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { copyInto } from "../../src/database/copy.ts";
import {
  databaseRemedy,
  ServerSilentError,
  SessionLostError,
} from "../../src/database/database-error.ts";
import { isStillWorking } from "../../src/database/silence.ts";
import { targetOf } from "../../src/database/socket.ts";
import { selfSigned } from "../callbacks/tls.ts";
import { freshDatabase } from "../postgres.ts";
import { breakableWay } from "./outage.ts";

const SILENCE_MS = 2_000;

const behindWay = async (settings: { readonly statementTimeoutMs?: number } = {}) => {
  const stack = new AsyncDisposableStack();
  const direct = stack.use(await freshDatabase());
  const way = stack.use(await breakableWay(direct.url));
  const database = stack.use(
    connect({
      url: way.url,
      max: 2,
      applicationName: "silent",
      silenceMs: SILENCE_MS,
      ...settings,
    }),
  );
  return { direct, way, database, [Symbol.asyncDispose]: () => stack.disposeAsync() };
};

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (error: unknown) => error,
  );

test("a statement on a silent connection fails, and the pool opens a new one", async () => {
  await using made = await behindWay();
  const { database, way } = made;
  await database.sql`select 1`;
  way.fallSilent();
  const failed = failureOf(database.sql`select ${1}::int4 as first_use`.execute());
  way.speakAgain();
  const error = await failed;
  expect(error).toBeInstanceOf(ServerSilentError);
  expect(databaseRemedy(error)).toBe("retry");
  expect(await database.sql`select 1 as n`).toEqual([{ n: 1 }]);
});

test("a session that fell silent is lost: in a transaction, in a statement, in a COPY", async () => {
  await using made = await behindWay();
  const { direct, database, way } = made;
  await direct.sql`create table t (a int)`;
  const [first, second, third] = await Promise.all([
    database.session(),
    database.session(),
    database.session(),
  ]);
  const begun = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<void>();
  const inTransaction = failureOf(
    first.transaction(async ({ sql }) => {
      await sql`insert into t values (1)`;
      begun.resolve();
      await silent.promise;
      await sql`insert into t values (2)`;
    }),
  );
  await begun.promise;
  way.fallSilent();
  silent.resolve();
  const inStatement = failureOf(second.statement((sql) => sql`insert into t values (3)`));
  const rows = Array.from({ length: 100_000 }, (_, a) => a);
  const inCopy = failureOf(
    third.transaction(({ sql }) => copyInto(sql, "t", ["a"], rows, (a, row) => row.integer(a))),
  );
  way.speakAgain();
  for (const failed of [inTransaction, inStatement, inCopy]) {
    expect(await failed).toBeInstanceOf(SessionLostError);
  }
  for (const { lost } of [first, second, third]) expect(lost.aborted).toBe(true);
  expect(await direct.sql`select * from t`).toEqual([]);
});

test("an answer that stops halfway is a lost connection", async () => {
  await using made = await behindWay();
  const { database, way } = made;
  way.fallSilentAfter(200_000);
  const failed = failureOf(
    database.sql`select repeat('x', 1000) from generate_series(1, 100000)`.execute(),
  );
  expect(await failed).toBeInstanceOf(ServerSilentError);
});

test("a long statement is left alone while the server works on it", async () => {
  await using made = await behindWay();
  const { database } = made;
  // Pauses of three times what counts as silent.
  expect(await database.sql`select 1 as n from pg_sleep(${(3 * SILENCE_MS) / 1_000})`).toEqual([
    { n: 1 },
  ]);
  await using session = await database.session();
  await session.transaction(async ({ sql }) => {
    await sql`select 1`;
    await delay(2 * SILENCE_MS);
    await sql`select pg_sleep(${(2 * SILENCE_MS) / 1_000})`;
  });
  expect(session.lost.aborted).toBe(false);
});

test("a slowly read cursor keeps its connection, also when idle afterwards; a silent one is lost", async () => {
  await using made = await behindWay();
  const { database, way } = made;
  await using session = await database.session();
  const pauseMs = 3 * SILENCE_MS;
  const read = (afterFirst: () => unknown) =>
    session.transaction(async ({ sql }) => {
      const seen: number[] = [];
      const pieces = sql<{ n: number }[]>`select n from generate_series(1, ${25}::int4) as n`;
      for await (const rows of pieces.cursor(10)) {
        seen.push(...rows.map(({ n }) => n));
        if (seen.length === 10) await afterFirst();
      }
      return seen.length;
    });
  expect(await read(() => delay(pauseMs))).toBe(25);
  await delay(pauseMs);
  expect(session.lost.aborted).toBe(false);
  const failed = failureOf(
    read(() => {
      way.fallSilent();
      setImmediate(way.speakAgain);
    }),
  );
  expect(await failed).toBeInstanceOf(SessionLostError);
}, 60_000);

test("a statement with a timeout counts as lost well after it, without asking the server", async () => {
  await using made = await behindWay({ statementTimeoutMs: 500 });
  const { database, way } = made;
  await database.sql`select 1`;
  way.fallSilent();
  expect(await failureOf(database.sql`select 2`.execute())).toBeInstanceOf(ServerSilentError);
});

test("a listener that fell silent is replaced", async () => {
  await using made = await behindWay();
  const { database, direct, way } = made;
  const ending = new AbortController();
  const heard: (string | null)[] = [];
  database.listen("silence", (payload) => heard.push(payload), ending.signal);
  await expect.poll(() => heard).toEqual([null]);
  way.fallSilent();
  way.speakAgain();
  await expect.poll(() => heard, { timeout: 60_000 }).toEqual([null, null]);
  await direct.sql`select pg_notify('silence', 'again')`;
  await expect.poll(() => heard).toEqual([null, null, "again"]);
  ending.abort();
}, 90_000);

/** Speaks TLS before a server that need not, and counts the connections that did. */
const withTls = async (url: string, certificate: { key: string; cert: string }) => {
  const target = new URL(url);
  const counted = { secured: 0 };
  const server = createServer((from) => {
    from.on("error", () => undefined);
    from.once("data", () => {
      from.write("S");
      const secure = new TLSSocket(from, { isServer: true, ...certificate });
      const to = createConnection({ host: target.hostname, port: Number(target.port) });
      counted.secured += 1;
      for (const [near, far] of [
        [secure, to],
        [to, secure],
      ] as const) {
        near.on("error", () => far.destroy()).on("close", () => far.destroy());
        near.pipe(far);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const own = new URL(url);
  own.port = `${typeof address === "object" && address !== null ? address.port : 0}`;
  return { url: own.href, counted, [Symbol.asyncDispose]: async () => void server.close() };
};

const certificate = await selfSigned();
if (certificate === undefined) console.warn("no openssl: the test of TLS is skipped");

test.skipIf(certificate === undefined)(
  "a session over TLS works, and is lost when it falls silent",
  async () => {
    await using direct = await freshDatabase();
    await using tls = await withTls(direct.url, certificate ?? { key: "", cert: "" });
    await using way = await breakableWay(tls.url);
    const settings = { max: 1, applicationName: "tls", silenceMs: SILENCE_MS };
    await using database = connect({ ...settings, url: `${way.url}?sslmode=require` });
    await using session = await database.session();
    expect(await session.statement((sql) => sql`select ${"x"} as x`)).toEqual([{ x: "x" }]);
    expect(tls.counted.secured).toBe(1);
    way.fallSilent();
    const failed = failureOf(session.statement((sql) => sql`select ${"x"} as x`));
    way.speakAgain();
    expect(await failed).toBeInstanceOf(SessionLostError);

    // The certificate is nobody's whom this machine trusts.
    await using checked = connect({ ...settings, url: `${tls.url}?sslmode=verify-full` });
    expect(String(await failureOf(checked.sql`select 1`.execute()))).toMatch(/self.signed/);
    await using preferred = connect({ ...settings, url: `${direct.url}?sslmode=prefer` });
    expect(await preferred.sql`select 1 as n`).toEqual([{ n: 1 }]);
    await using required = connect({ ...settings, url: `${direct.url}?sslmode=require` });
    expect(String(await failureOf(required.sql`select 1`.execute()))).toMatch(/speak TLS/);
  },
);

test("a statement fails with the reason when none of several hosts answers", async () => {
  const url = "postgres://nobody@127.0.0.1:1,127.0.0.1:2/none";
  await using database = connect({ url, max: 1, applicationName: "nowhere" });
  // Again and again: a failure costs the pool no place.
  for (const _ of [1, 2, 3]) {
    const failed = await failureOf(database.sql`select 1`.execute());
    expect(failed).toHaveProperty("code", "ECONNREFUSED");
  }
});

test("a server that accepts a connection and stays silent is named", async () => {
  const mute = createServer((socket) => void socket.on("error", () => undefined)).listen(
    0,
    "127.0.0.1",
  );
  await once(mute, "listening");
  const at = mute.address();
  if (at === null || typeof at === "string") throw new Error("no port");
  const url = `postgres://nobody@127.0.0.1:${at.port}/none`;
  try {
    await using database = connect({ url, max: 1, applicationName: "mute" });
    const failed = await failureOf(database.sql`select 1`.execute());
    expect(String(failed)).toContain(`CONNECT_TIMEOUT 127.0.0.1:${at.port}`);
  } finally {
    mute.close();
  }
}, 60_000);

test("the host that received a statement is the one asked about it", async () => {
  await using direct = await freshDatabase();
  await using away = await breakableWay(direct.url);
  await using way = await breakableWay(direct.url);
  const { host } = new URL(away.url);
  const url = away.url.replace(host, `${host},${new URL(way.url).host}`);
  await away.leave();
  await using database = connect({ url, max: 1, applicationName: "hosts", silenceMs: SILENCE_MS });
  // Longer than the other host would be waited for.
  const sleeping = database.sql`select 1 as n from pg_sleep(15)`.execute();
  await expect.poll(() => way.greetings.some((each) => each.includes("hosts"))).toBe(true);
  await away.comeBack();
  away.break();
  expect(await sleeping).toEqual([{ n: 1 }]);
}, 60_000);

test("the server reports whether it works on a statement", async () => {
  await using database = await freshDatabase();
  const at = targetOf(database.url);
  await using session = await database.session();
  const [row] = await session.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const pid = row?.pid;
  expect(await isStillWorking(database.url, at, pid)).toBe("no");
  const sleeping = session.sql`select pg_sleep(60)`.execute();
  sleeping.catch(() => undefined);
  await expect.poll(() => isStillWorking(database.url, at, pid)).toBe("yes");
  await database.sql`select pg_cancel_backend(${pid ?? 0})`;
  await expect.poll(() => isStillWorking(database.url, at, pid)).toBe("no");
  expect(await isStillWorking(database.url, at, 2 ** 30)).toBe("no");
});
