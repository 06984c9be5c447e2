import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { freshDatabase } from "../postgres.ts";
import { breakableWay } from "./outage.ts";

/** The driver waits so long for what it takes to be under way. */
const DRIVER_WAITS_MS = 5_000;

const closing = async (close: () => Promise<void>): Promise<number> => {
  const beganMs = performance.now();
  await close();
  return performance.now() - beganMs;
};

test("a database closes immediately after losing its connections during statements", async () => {
  await using direct = await freshDatabase();
  await using way = await breakableWay(direct.url);
  const database = connect({ url: way.url, max: 2, applicationName: "test" });
  const lost = [1, 2].map(() => database.sql`select pg_sleep(60)`.execute());
  const settled = Promise.allSettled(lost);
  const running = async () =>
    (await direct.sql`select 1 from pg_stat_activity where query like 'select pg_sleep%'`).length;
  await expect.poll(running, { timeout: 30_000 }).toBe(2);
  way.break();
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await closing(database.close)).toBeLessThan(DRIVER_WAITS_MS - 500);
});

test("a closing database waits for pending answers, and refuses no running statement", async () => {
  await using direct = await freshDatabase();
  const database = connect({ url: direct.url, max: 2, applicationName: "test" });
  const slow = database.sql`select pg_sleep(0.5)::text as slept`.execute();
  const running = async () =>
    (await direct.sql`select 1 from pg_stat_activity where query like 'select pg_sleep%'`).length;
  await expect.poll(running, { timeout: 30_000 }).toBe(1);
  await database.close();
  expect(await slow).toEqual([{ slept: "" }]);
});
