import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import postgres from "postgres";
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { connectionOptions } from "../../src/database/connection.ts";
import { FormerPrimaryError } from "../../src/database/database-error.ts";
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

test("a statement sent in the turn that ends its connection fails at once, and the next one is answered", async () => {
  await using direct = await freshDatabase();
  const { end, ...options } = connectionOptions({ url: direct.url, applicationName: "test" });
  let last: Socket | undefined;
  const socket = async () => {
    last = await options.socket();
    return last;
  };
  const held = { ...options, max: 1, socket };
  const client = postgres(direct.url, held);
  await client`select 1`;
  for (const reason of [new FormerPrimaryError("db1"), undefined]) {
    await turn();
    last?.destroy(reason);
    const sent = client`select 1 as n`.execute();
    await expect(sent).rejects.toThrow(reason?.message ?? "CONNECTION_CLOSED");
    expect(await client`select 2 as n`).toEqual([{ n: 2 }]);
  }
  await end(client);
}, 8_000);
