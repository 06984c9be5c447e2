// @module-tag thorough
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { type Reads, read } from "../../src/database/readers.ts";
import { examineReplicas } from "../../src/database/replicas/examine.ts";
import { createSpread, type Spread } from "../../src/database/replicas/spread.ts";
import { until } from "../lanes/until.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";

let primary: Primary;
let [one, two]: Standby[] = [];
let database: Database;

beforeAll(async () => {
  primary = await startPrimary();
  await primary.run("create table counted (n int not null)");
  await primary.run("insert into counted values (0)");
  // What a replica needs: no more than reading.
  await primary.run("create role reading login password 'reading'");
  await primary.run("grant select on counted to reading");
  one = await primary.standby("one");
  two = await primary.standby("two");
  database = connect({ url: primary.url, max: 2, applicationName: "test" });
}, 60_000);
afterAll(async () => {
  await database.close();
  await primary[Symbol.asyncDispose]();
});

const asReader = (url: string): string => {
  const other = new URL(url);
  other.username = "reading";
  other.password = "reading";
  return other.href;
};

const spreadOver = (
  standbys: readonly (Standby | undefined)[],
  maxLagMs = 60_000,
  { url, sql } = { url: primary.url, sql: database.sql },
) => {
  const changes: string[] = [];
  const spread = createSpread({
    readers: {
      url,
      max: 4,
      applicationName: "spread",
      readOnly: true,
      statementTimeoutMs: 5_000,
      lockedFirst: ["public.counted"],
    },
    replicas: standbys.flatMap((standby) => (standby === undefined ? [] : [asReader(standby.url)])),
    maxLagMs,
    primary: sql,
    onChange: ({ number, state }) => changes.push(`${number} ${state}`),
  });
  return { ...spread, changes, [Symbol.asyncDispose]: () => spread.readers.close() };
};

const increase = async () => {
  const [row] = await database.sql<{ n: number }[]>`update counted set n = n + 1 returning n`;
  return row?.n ?? 0;
};

/** The number, and whether a standby gave it. */
const READ = "select n, pg_is_in_recovery() as standby from counted";
const readOn = async (reads: Reads) => {
  const [row] = await read<{ n: number; standby: boolean }>(reads, READ, []);
  if (row === undefined) throw new Error("no row");
  return row;
};

const LIGHT = 1;
const readNow = ({ readers }: Spread) => readOn(readers.for(undefined, LIGHT));

const allUsed = (spread: Spread) =>
  until(
    "all replicas in use",
    () => spread.standings().map(({ state }) => state),
    (states) => states.every((state) => state === "used"),
  );

const shownByStandby = (spread: Spread) =>
  until(
    "an answer of a standby",
    () => readNow(spread),
    ({ standby }) => standby,
  );

test("reads are spread over the replicas, and each later one shows at least what an earlier one showed", async () => {
  await using spread = spreadOver([one, two]);
  await allUsed(spread);
  const stop = new AbortController();
  const writing = (async () => {
    while (!stop.signal.aborted) await increase();
  })();
  const client = async () => {
    let [last, back] = [0, 0];
    for (let times = 0; times < 300; times += 1) {
      const { n } = await readNow(spread);
      if (n < last) back += 1;
      last = n;
    }
    return back;
  };
  const back = await Promise.all([client(), client(), client()]);
  stop.abort();
  await writing;
  expect(back).toEqual([0, 0, 0]);
  for (let times = 0; times < 50; times += 1) await shownByStandby(spread);
  const { replicas } = spread.reads;
  expect(Math.min(...replicas)).toBeGreaterThan(10);
});

test("a read after one of the primary shows the same or more, from a replica as soon as one has it", async () => {
  await using spread = spreadOver([one]);
  // It is in use before it shows all that the primary had when the process began.
  await shownByStandby(spread);
  await one?.pauseReplay();
  const n = await increase();
  expect(await readNow(spread)).toEqual({ n: n - 1, standby: true });
  expect((await readOn(spread.primary.for(undefined, LIGHT))).n).toBe(n);
  expect(await readNow(spread)).toEqual({ n, standby: false });
  await one?.resumeReplay();
  expect((await shownByStandby(spread)).n).toBe(n);
});

test("statements of a snapshot see one state of one replica while the primary moves on", async () => {
  await using spread = spreadOver([one, two]);
  await allUsed(spread);
  await until(
    "an answer of a standby",
    () => readNow(spread),
    ({ standby }) => standby,
  );
  const snapshot = spread.readers.snapshot(undefined, LIGHT);
  const first = await readOn(snapshot);
  await increase();
  await Promise.all([one?.caughtUp(), two?.caughtUp()]);
  const again = await Promise.all([readOn(snapshot), readOn(snapshot)]);
  snapshot.end();
  expect(again).toEqual([first, first]);
  await spread.catchUp();
  expect((await readNow(spread)).n).toBe(first.n + 1);
});

test("a replica that is behind by more than the bound is left out, and comes back when it has caught up", async () => {
  await using spread = spreadOver([one], 1_000);
  await allUsed(spread);
  await one?.pauseReplay();
  await increase();
  await until(
    "behind",
    () => spread.standings()[0]?.state,
    (state) => state === "behind",
  );
  expect((await readNow(spread)).standby).toBe(false);
  // It was behind before another process began.
  await using later = spreadOver([one], 1_000);
  await until(
    "behind",
    () => later.standings()[0]?.state,
    (state) => state === "behind",
  );
  expect(later.changes).toEqual(["1 behind"]);
  await one?.resumeReplay();
  await shownByStandby(spread);
});

test("a replica that is stopped under load fails no single read, and comes back by itself", async () => {
  await using spread = spreadOver([one, two]);
  await allUsed(spread);
  const stop = new AbortController();
  let answered = 0;
  const client = async () => {
    for (let last = 0; !stop.signal.aborted; answered += 1) {
      const { n } = await readNow(spread);
      expect(n).toBeGreaterThanOrEqual(last);
      last = n;
    }
  };
  const reading = Promise.all([client(), client()]);
  await until(
    "reads",
    () => answered,
    (count) => count > 50,
  );
  await two?.kill();
  await until(
    "gone",
    () => spread.standings()[1]?.state,
    (state) => state === "gone",
  );
  const before = answered;
  await until(
    "further reads",
    () => answered,
    (count) => count > before + 50,
  );
  await two?.start();
  await allUsed(spread);
  stop.abort();
  await reading;
});

test("a promoted replica is left out, even before it was looked at, and the primary answers", async () => {
  const three = await primary.standby("three");
  await using spread = spreadOver([three]);
  await allUsed(spread);
  await shownByStandby(spread);
  await three.promote();
  await three.run("update counted set n = -1");
  expect((await readNow(spread)).n).toBeGreaterThanOrEqual(0);
  await until(
    "promoted",
    () => spread.standings()[0]?.state,
    (state) => state === "promoted",
  );
});

test("a replica that has what a former primary alone had is refused, also when the primary has moved on", async () => {
  await using former = await startPrimary();
  await former.run("create table counted (n int not null)");
  await former.run("create role reading login password 'reading'");
  await former.run("grant select on counted to reading");
  const [promoted, ahead] = [await former.standby("promoted"), await former.standby("ahead")];
  await Promise.all([promoted.caughtUp(), ahead.caughtUp()]);
  await promoted.stop();
  // More than a promotion writes itself.
  const write = "insert into counted select generate_series(1, 50000)";
  await former.run(write);
  await ahead.caughtUp();
  await former.kill();
  await promoted.start();
  await promoted.promote();
  await using own = connect({ url: promoted.url, max: 2, applicationName: "test" });
  await using spread = spreadOver([ahead], 60_000, { url: promoted.url, sql: own.sql });
  const refused = await until(
    "refused",
    () => spread.standings()[0],
    (standing) => standing?.state === "refused",
  );
  expect(refused?.reason).toContain("has what the primary lacks");
  const examined = { replicas: [asReader(ahead.url)], maxLagMs: 60_000, tables: [] };
  expect((await examineReplicas(own.sql, examined)).map(({ state }) => state)).toEqual(["refused"]);
  for (let times = 0; times < 2; times += 1) await promoted.run(write);
  await spread.catchUp();
  await using there = connect({ url: ahead.url, max: 1, applicationName: "test" });
  const looks = async () => {
    const [row] = await there.sql<{ at: number }[]>`
      select extract(epoch from max(query_start))::float8 as at from pg_stat_activity
      where application_name = 'holderbook-replica'`;
    return row?.at ?? 0;
  };
  const moved = await looks();
  await until("further looks", looks, (at) => at > moved + 0.6);
  expect(spread.changes).toEqual(["1 used", "1 refused"]);
  expect((await readNow(spread)).standby).toBe(false);
}, 60_000);

test("a server of another database, and one whose role may not read, are refused with the reason", async () => {
  await using other = await startPrimary();
  await other.run("create table counted (n int not null)");
  const foreign = await other.standby("foreign");
  await other.run("create role reading login password 'reading'");
  await foreign.caughtUp();
  await using spread = spreadOver([foreign]);
  const refused = await until(
    "refused",
    () => spread.standings()[0],
    (standing) => standing?.state === "refused",
  );
  expect(refused?.reason).toBe("is no replica of the database of DATABASE_URL");
  expect(refused?.host).toBe(`127.0.0.1:${foreign.port}`);

  await primary.run("revoke select on counted from reading");
  await one?.caughtUp();
  await using forbidden = spreadOver([one]);
  const lacking = await until(
    "refused",
    () => forbidden.standings()[0],
    (standing) => standing?.state === "refused",
  );
  expect(lacking?.reason).toBe("lacks tables, or its role may not read them");
  await primary.run("grant select on counted to reading");
  await allUsed(forbidden);
}, 60_000);
