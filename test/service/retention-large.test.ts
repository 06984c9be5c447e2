// @module-tag thorough
/** Retention on many rows: killed anywhere, beside other work, and without reading a table through. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { pruneCallbacks } from "../../src/callbacks/pruning.ts";
import { connect, type Database } from "../../src/database/connect.ts";
import { pruneRequests } from "../../src/ta/requests/pruning.ts";
import { fillDelivered, halfRemoved, storedCallbacks } from "../callbacks/old-messages.ts";
import { ENDPOINT, LOCAL } from "../callbacks/sender.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { fillEnded, halfRemovedRequests, storedRequests } from "../ta/old-requests.ts";

const COUNT = 30_000;
const PROGRAM = fileURLToPath(new URL("./retention-process.ts", import.meta.url));

const filled = async (): Promise<TestDatabase> => {
  const database = await freshDatabase();
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:1/" });
  await fillDelivered(database.sql, { count: COUNT, days: 90, endpoint: ENDPOINT });
  await fillEnded(database.sql, { count: COUNT, days: 90 });
  await database.sql`analyze`;
  return database;
};

/** Runs a process that removes, and kills it after `statements`; returns whether it was still at it. */
const killedAfter = async (url: string, statements: number): Promise<boolean> => {
  const child = spawn(process.execPath, [PROGRAM, url], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let seen = 0;
  for await (const _ of createInterface({ input: child.stdout })) {
    seen += 1;
    if (seen === statements) child.kill("SIGKILL");
  }
  await ended;
  return child.signalCode === "SIGKILL";
};

test("a process killed at any time leaves no callback and no request half removed, and the next goes on", async () => {
  await using database = await filled();
  const { sql } = database;
  for (const statements of [1, 2, 3, 5, 8, 13, 21]) {
    expect(await killedAfter(database.url, statements)).toBe(true);
    expect(await halfRemoved(sql)).toEqual([]);
    expect(await halfRemovedRequests(sql)).toEqual([]);
  }
  expect(await killedAfter(database.url, Number.POSITIVE_INFINITY)).toBe(false);
  expect(await storedCallbacks(sql)).toMatchObject({ messages: [], attempts: {} });
  expect(await storedRequests(sql)).toMatchObject({ requests: [], steps: 0, transactions: 0 });
}, 240_000);

/** Times that tables were read through; on its one connection, whose figures come with its next statement. */
const readThrough = async ({ sql }: Database) => {
  await sql`select pg_stat_force_next_flush()`;
  const rows = await sql<{ table: string; scans: bigint }[]>`
    select relname as table, seq_scan as scans from pg_stat_user_tables
    where relname in ('callback_messages', 'callback_attempts', 'pruned_callbacks', 'ta_requests',
                      'ta_request_history', 'ta_transactions')
    order by relname`;
  return Object.fromEntries(rows.map(({ table, scans }) => [table, scans]));
};

test("no statement of retention reads a large table through", async () => {
  await using database = await filled();
  await using one = connect({ url: database.url, max: 1, applicationName: "one" });
  const before = await readThrough(one);
  const stretch = { before: new Date(Date.now() - 31 * 86_400_000), limit: 500 };
  const first = await pruneCallbacks(one, { ...stretch, after: null });
  const second = await pruneCallbacks(one, { ...stretch, after: first.next });
  const requests = await pruneRequests(one, { ...stretch, after: null });
  expect(first.removed).toEqual({ callback_messages: 500, callback_attempts: 500 });
  expect(second.removed).toEqual(first.removed);
  expect(requests.removed).toMatchObject({ ta_requests: 500, ta_transactions: 500 });
  expect(await readThrough(one)).toEqual(before);
});
