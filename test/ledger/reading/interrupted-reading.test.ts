import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { connect } from "../../../src/database/connect.ts";
import { contentsOf } from "../../log/contents.ts";
import { noteWriters } from "../../log/damage.ts";
import { freshDatabase } from "../../postgres.ts";
import { until } from "../sources/taking.ts";
import { nextOf, reached, reported, start, undisturbed } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

test("stopped at any moment and restarted, reading leaves the log of an undisturbed run", async () => {
  const expected = await undisturbed(600n);
  await using database = await freshDatabase();
  const ledger = createScriptedLedger({ newest: 600n });
  let random = 12_345;
  const next = (below: number) => {
    random = (random * 48_271) % 2_147_483_647;
    return random % below;
  };
  for (let round = 0; round < 12; round += 1) {
    const running = start(database, ledger, {
      bounds: { facts: 20 + next(60), checkpoints: 5 + next(40) },
    });
    const at = await nextOf(database);
    const goal = at + BigInt(1 + next(40));
    await reached(database, goal < 601n ? goal : 601n);
    await wait(next(8));
    await running.stop();
  }
  await start(database, ledger, { last: 600n }).ended;
  expect(await contentsOf(database)).toBe(expected);
});

test("losing its database connection at any moment, the reader recovers and loses nothing", async () => {
  const expected = await undisturbed(400n);
  await using database = await freshDatabase();
  // The test's own eyes must stay open.
  await using observer = connect({ url: database.url, max: 1, applicationName: "observer" });
  const ledger = createScriptedLedger({ newest: 400n });
  // Slow enough to be in the middle of something whenever it is hit.
  ledger.before = () => wait(1);
  const running = start(database, ledger, { last: 400n });
  for (let hit = 1n; hit <= 6n; hit += 1n) {
    await reached(observer, hit * 50n);
    await observer.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'test'`;
  }
  await running.ended;
  expect(running.notices.length).toBeGreaterThan(0);
  expect(await contentsOf(observer)).toBe(expected);
});

test("a standby reader writes nothing, and takes over when the first ends", async () => {
  const expected = await undisturbed(120n);
  await using database = await freshDatabase();
  await using other = connect({ url: database.url, max: 2, applicationName: "second" });
  const ledger = createScriptedLedger({ newest: 60n });
  const first = start(database, ledger);
  await reached(database, 61n);
  const second = start(other, ledger, { last: 120n });
  await reported(second, ({ state }) => state === "standby");
  ledger.grow(10n);
  await reached(database, 71n);
  expect(second.batches).toEqual([]);

  await first.stop();
  ledger.grow(50n);
  await second.ended;
  expect(await contentsOf(database)).toBe(expected);
  expect(second.batches[0]?.first).toBe(71n);
});

test("a reader waiting at the tip notices that it lost its lock, and becomes a standby", async () => {
  await using database = await freshDatabase();
  await using other = connect({ url: database.url, max: 2, applicationName: "second" });
  const ledger = createScriptedLedger({ newest: 10n });
  const first = start(database, ledger);
  await reached(database, 11n);
  const second = start(other, ledger);
  await reported(second, ({ state }) => state === "standby");
  await database.sql`
    select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`;
  // The faster one has it; the other one knows that it has not.
  await until(
    () =>
      first.seen.latest?.state === "standby" ||
      (second.seen.latest?.state === "standby" && ledger.openedAt.length === 2),
    () => `${first.seen.latest?.state}, ${second.seen.latest?.state}, ${ledger.openedAt}`,
  );
  ledger.grow(5n);
  await reached(database, 16n);
  await Promise.all([first.stop(), second.stop()]);
});

test("the reader writes through the connection that holds its lock, so that losing the lock ends the writing", async () => {
  await using database = await freshDatabase();
  const writers = await noteWriters(database);
  await start(database, createScriptedLedger({ newest: 100n }), { last: 100n }).ended;
  expect(await writers()).toEqual({ writers: 1n, locked: true });
});
