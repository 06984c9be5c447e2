/** Delivered callbacks are removed after their time, and nothing else is. */
import { beforeEach, expect, test } from "vitest";
import { listDeliveries, PrunedDeliveryError, redeliver } from "../../src/callbacks/deliveries.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { pruneCallbacks } from "../../src/callbacks/pruning.ts";
import { isSerializationFailure } from "../../src/database/database-error.ts";
import type { TimedCursor } from "../../src/database/iso-time.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { deliverLongAgo, storedCallbacks } from "./old-messages.ts";
import { callbackOf, ENDPOINT, LOCAL } from "./sender.ts";

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

let database: TestDatabase;
beforeEach(async () => {
  database = await freshDatabase();
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:1/" });
  return () => database.close();
});

const enqueue = (ids: readonly string[]) =>
  database.transaction((tx) =>
    enqueueCallbacks(
      tx,
      ids.map((id) => callbackOf({ id })),
    ),
  );

/** Prunes to the end; returns rows removed and statements needed. */
const prune = async (days: number, limit = 500) => {
  const before = daysAgo(days);
  let after: TimedCursor | null = null;
  const removed = { callback_messages: 0, callback_attempts: 0 };
  let statements = 0;
  do {
    const stretch = await pruneCallbacks(database, { before, after, limit });
    removed.callback_messages += stretch.removed.callback_messages;
    removed.callback_attempts += stretch.removed.callback_attempts;
    after = stretch.next;
    statements += 1;
  } while (after !== null);
  return { ...removed, statements };
};

test("delivered callbacks older than their time go with their attempts; younger, pending, failed and redelivered ones stay", async () => {
  const { sql } = database;
  await enqueue([
    "old-1",
    "old-2",
    "young",
    "pending",
    "failed",
    "disabled",
    "sent-again",
    "again-now",
  ]);
  await deliverLongAgo(
    sql,
    ["old-1", "old-2", "pending", "failed", "disabled", "sent-again", "again-now"],
    91,
  );
  await deliverLongAgo(sql, ["young"], 89);
  for (const status of ["pending", "failed", "disabled"]) {
    await sql`update callback_messages set status = ${status}, delivered_at = null where id = ${status}`;
  }
  await sql`update callback_attempts set at = now() where message_id = 'sent-again' and number = 2`;
  expect(await redeliver(database, { endpoints: [ENDPOINT], id: "again-now" })).toBe("accepted");

  expect(await prune(90)).toMatchObject({ callback_messages: 2, callback_attempts: 4 });

  const messages = ["again-now", "disabled", "failed", "pending", "sent-again", "young"];
  const attempts = Object.fromEntries(messages.map((id) => [id, 2]));
  expect(await storedCallbacks(sql)).toEqual({ messages, attempts, marks: 2 });
  expect(await prune(90)).toMatchObject({ callback_messages: 0, callback_attempts: 0 });
});

test("a removed callback is not enqueued again, and its redelivery and its place in a list say that it was removed", async () => {
  const { sql } = database;
  await enqueue(["old", "kept"]);
  await deliverLongAgo(sql, ["old"], 10);
  await prune(7);

  await enqueue(["old", "kept", "new"]);
  expect((await storedCallbacks(sql)).messages).toEqual(["kept", "new"]);
  const whose = { endpoints: [ENDPOINT] };
  expect(await redeliver(database, { ...whose, id: "old" })).toBe("removed");
  expect(await redeliver(database, { ...whose, id: "never" })).toBe("unknown");
  const list = (after: string) => listDeliveries(database, { ...whose, after, limit: 10 });
  await expect(list("old")).rejects.toThrow(PrunedDeliveryError);
  await expect(list("never")).rejects.toThrow("there is no delivery of this id");
});

test("a callback removed since the snapshot of a transaction that enqueues it fails that transaction, and its retry sends nothing", async () => {
  await enqueue(["old"]);
  await deliverLongAgo(database.sql, ["old"], 10);
  const repeat = () =>
    database.transaction(async (tx) => {
      await tx.sql`set transaction isolation level repeatable read`;
      await tx.sql`select count(*) from callback_messages`;
      if ((await storedCallbacks(database.sql)).messages.length > 0) await prune(7);
      await enqueueCallbacks(tx, [callbackOf({ id: "old" })]);
    });
  const error: unknown = await repeat().catch((reason: unknown) => reason);
  expect(isSerializationFailure(error)).toBe(true);
  await repeat();
  expect((await storedCallbacks(database.sql)).messages).toEqual([]);
});

test("each statement looks at a bounded number of rows, also where most of them stay", async () => {
  const { sql } = database;
  const ids = Array.from({ length: 25 }, (_, n) => `m-${n}`);
  await enqueue(ids);
  await deliverLongAgo(sql, ids, 30);
  await sql`update callback_messages set status = 'failed' where sequence % 5 > 0`;
  expect(await prune(7, 10)).toEqual({
    callback_messages: 5,
    callback_attempts: 10,
    statements: 3,
  });
  expect((await storedCallbacks(sql)).messages).toHaveLength(20);
});

test("a callback that is locked, such as by its redelivery, is left for the next round", async () => {
  await enqueue(["held", "free"]);
  await deliverLongAgo(database.sql, ["held", "free"], 10);
  await database.transaction(async (tx) => {
    await tx.sql`select from callback_messages where id = 'held' for no key update`;
    expect(await prune(7)).toMatchObject({ callback_messages: 1 });
  });
  expect((await storedCallbacks(database.sql)).messages).toEqual(["held"]);
  expect(await prune(7)).toMatchObject({ callback_messages: 1 });
});
