/** A receiver that an operator paused: nothing is sent, nothing is lost, and no attempt is used up. */
import { expect, test } from "vitest";
import { redeliver } from "../../src/callbacks/deliveries.ts";
import { changeEndpoints, registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { callbackFigures } from "../../src/callbacks/figures.ts";
import { wakeReceiver } from "../../src/callbacks/lanes.ts";
import type { Database } from "../../src/database/connect.ts";
import { beginPause, endPause } from "../../src/pauses/pauses.ts";
import { until } from "../lanes/until.ts";
import { startReceiver } from "./receiver.ts";
import { deliveryOf, ENDPOINT, LOCAL, startSender } from "./sender.ts";

const WHO = { kind: "receiver", name: ENDPOINT, by: "ops on desk" } as const;

const pause = (database: Database) =>
  database.transaction((tx) => beginPause(tx, { ...WHO, reason: "maintenance" }));

const resume = (database: Database) =>
  database.transaction(async (tx) => {
    await endPause(tx, WHO);
    await wakeReceiver(tx, ENDPOINT);
  });

/** Every lane was looked at, and rests. */
const resting = ({ sql }: Database) =>
  until(
    "lanes at rest",
    () => sql<{ busy: number }[]>`
      select (select count(*) from callback_lanes where wake_at <= now() or leased_until is not null)
        + (select count(*) from callback_arrivals) as busy`,
    ([row]) => Number(row?.busy) === 0,
  );

test("callbacks to a paused receiver wait, another receiver's are sent; resumed, all arrive in order, with the attempts they had", async () => {
  let up = false;
  await using receiver = await startReceiver(() => (up ? 204 : 500));
  await using well = await startReceiver();
  const given: string[] = [];
  await using sender = await startSender(receiver.url, {
    retrySeconds: [1, 1, 1],
    onGivenUp: async (_tx, { id }) => void given.push(id),
  });
  const { database } = sender;
  await changeEndpoints(database, (tx) =>
    registerEndpoint(tx, LOCAL, { key: "project:other", url: well.url }),
  );
  await sender.send([
    { id: "a1", lane: "a" },
    { id: "a2", lane: "a" },
  ]);
  await until(
    "a first attempt",
    async () => (await deliveryOf(database, "a1")).attempts.length,
    (count) => count === 1,
  );
  await pause(database);
  await resting(database);
  const before = receiver.received.length;
  up = true;
  await sender.send([
    { id: "a3", lane: "a" },
    { id: "b1", lane: "b" },
    { id: "other", endpoint: "project:other" },
  ]);
  await until(
    "the other receiver's",
    () => well.accepted(),
    (ids) => ids.length === 1,
  );
  expect(await redeliver(database, { endpoints: [ENDPOINT], id: "b1" })).toBe("waiting");
  // The retry falls due, and the redelivery wakes a lane: both are looked at and left alone.
  await until(
    "the retry to fall due",
    () => database.sql`select 1 from callback_lanes where due_at > now()`,
    (rows) => rows.length === 0,
  );
  await resting(database);
  expect(receiver.received).toHaveLength(before);
  expect(await callbackFigures(database)).toMatchObject({ pending: 0, failing: [] });
  expect((await deliveryOf(database, "a1")).attempts).toHaveLength(before);

  await resume(database);
  await sender.settled();
  expect(receiver.accepted().filter((id) => id.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
  expect(receiver.accepted()).toContain("b1");
  expect(given).toEqual([]);
  expect((await deliveryOf(database, "a1")).attempts).toHaveLength(before + 1);
});

test("a retry whose time has not come keeps it over a pause", async () => {
  await using receiver = await startReceiver(() => 500);
  await using sender = await startSender(receiver.url, { retrySeconds: [3_600] });
  const { database } = sender;
  await sender.send([{ id: "late" }]);
  const due = () => database.sql<{ at: Date }[]>`
    select due_at as at from callback_lanes where due_at > now() + interval '30 minutes'`;
  const [lane] = await until("a retry in an hour", due, (rows) => rows.length === 1);
  await pause(database);
  await resume(database);
  await resting(database);
  expect(await due()).toEqual([lane]);
  expect(receiver.received).toHaveLength(1);
});

test("lanes that are left while their receiver is resumed are not forgotten", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const { database } = sender;
  for (let round = 0; round < 10; round += 1) {
    await pause(database);
    await sender.send(
      Array.from({ length: 8 }, (_, n) => ({ id: `m${round}-${n}`, lane: `lane-${n}` })),
    );
    await resume(database);
  }
  await sender.settled();
  expect(new Set(receiver.accepted()).size).toBe(80);
});
