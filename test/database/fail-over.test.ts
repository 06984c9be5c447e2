// @module-tag alone
/** Several hosts in one URL: real servers, of which one is the primary, is killed, and comes back. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkHosts } from "../../src/commands/doctor/hosts.ts";
import { connect, type Database } from "../../src/database/connect.ts";
import { NoPrimaryError } from "../../src/database/database-error.ts";
import { primaryOf } from "../../src/database/primary.ts";
import { createReaders, read } from "../../src/database/readers.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { until } from "../lanes/until.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";

let one: Primary;
let two: Standby;
let url: string;
let database: Database;

beforeAll(async () => {
  one = await startPrimary();
  two = await one.standby("two");
  // The standby first: it answers, and takes no writes.
  url = one.url.replace(`127.0.0.1:${one.port}`, `127.0.0.1:${two.port},127.0.0.1:${one.port}`);
  database = connect({ url, max: 3, applicationName: "fail-over" });
}, 60_000);
afterAll(async () => {
  await database.close();
  await one[Symbol.asyncDispose]();
});

const portOf = async ({ sql }: Pick<Database, "sql">) => {
  const [row] = await sql<{ port: number }[]>`select inet_server_port()::int4 as port`;
  return row?.port;
};

test("pool, transactions, sessions and readers find the primary behind a standby that answers", async () => {
  expect(await portOf(database)).toBe(one.port);
  expect(await checkHosts(database, url)).toMatchObject([
    {
      state: "ok",
      says: `hosts: 127.0.0.1:${two.port} is a standby; 127.0.0.1:${one.port} takes writes`,
    },
    { state: "warn", says: expect.stringContaining("no standby confirms commits") },
  ]);
  await database.transaction(async ({ sql }) => {
    await sql`create table kept (n int8 primary key)`;
    expect(await portOf({ sql })).toBe(one.port);
  });
  await using session = await database.session();
  expect(await portOf(session)).toBe(one.port);
  const reading = { url, max: 3, applicationName: "fail-over", readOnly: true };
  await using readers = createReaders(reading);
  const [row] = await read<{ port: number }>(
    readers.for(undefined),
    "select inet_server_port()::int4 as port",
    [],
  );
  expect(row?.port).toBe(one.port);
});

test("a killed primary's connections are lost, and the promoted standby gets all new ones; listeners and queues too", async () => {
  const payloads: (string | null)[] = [];
  const done: bigint[] = [];
  const ending = new AbortController();
  await using queues = openQueues({ databaseUrl: url, onError: () => undefined });
  const queue = queues.queue("lanes");
  const worker = queues.worker("lanes", {
    concurrency: 1,
    run: async (lane) => void done.push(lane),
  });
  await worker.ready();
  await queue.add([{ id: "lane-1", lane: 1n }]);
  database.listen("told", (payload) => payloads.push(payload), ending.signal);
  await until(
    "the first wake-up",
    () => done,
    ({ length }) => length === 1,
  );
  await using session = await database.session();
  await two.caughtUp();

  await one.kill();
  await expect(database.sql`select 1`.execute()).rejects.toThrow();
  await expect(database.sql`select 1`.execute()).rejects.toThrow(
    new RegExp(`127.0.0.1:${two.port} is a standby; 127.0.0.1:${one.port} refuses`),
  );
  expect(session.lost.aborted).toBe(true);
  const heard = payloads.length;
  await two.promote();
  const beganMs = performance.now();
  await until(
    "writes",
    () => database.sql`insert into kept values (1)`.then(() => "written", String),
    (answer) => answer === "written",
  );
  await until(
    "a listener",
    () => payloads.slice(heard),
    ([connected]) => connected === null,
  );
  await database.sql`select pg_notify('told', 'news')`;
  await until(
    "news",
    () => payloads,
    (all) => all.at(-1) === "news",
  );
  await until(
    "a wake-up that is added",
    () => queue.add([{ id: "lane-2", lane: 2n }]).then(() => "added", String),
    (answer) => answer === "added",
  );
  await until(
    "the second wake-up",
    () => done,
    (all) => all.includes(2n),
  );
  const tookMs = performance.now() - beganMs;
  console.info(`all goes on ${Math.round(tookMs)} ms after the promotion`);
  expect(tookMs).toBeLessThan(10_000);
  expect(await portOf(database)).toBe(two.port);
  ending.abort();
}, 120_000);

test("a former primary that comes back and takes writes gets none while the promoted one runs, nor when it is alone", async () => {
  const said: string[] = [];
  const primary = primaryOf(url);
  const unwatch = primary?.watch((message) => said.push(message));
  await one.start();
  // What the operator is shown.
  const found = await checkHosts(database, url);
  expect(found.map(({ state }) => state)).toEqual(["fail", "warn", "warn"]);
  expect(found[0]?.says).toBe(
    `two primaries: 127.0.0.1:${two.port} takes writes; 127.0.0.1:${one.port} takes writes`,
  );
  await using session = await database.session();
  expect(await portOf(session)).toBe(two.port);
  await until(
    "the watch",
    () => said,
    ({ length }) => length > 0,
  );
  expect(said.join("\n")).toContain(
    `two hosts of the database take writes: 127.0.0.1:${two.port} is used`,
  );
  await two.stop();
  const alone = await database.sql`select 1`.execute().catch((error: unknown) => error);
  const again = await database.sql`select 1`.execute().catch((error: unknown) => error);
  expect(again, String(alone)).toBeInstanceOf(NoPrimaryError);
  expect(String(again)).toContain(`127.0.0.1:${one.port} takes writes, but is older`);
  await two.start();
  expect(await portOf(database)).toBe(two.port);
  unwatch?.();
}, 60_000);
