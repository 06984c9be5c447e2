/** Addresses that the configuration no longer names: nothing is sent there, and nothing is lost. */
import { expect, test } from "vitest";
import { listDeliveries, redeliver } from "../../src/callbacks/deliveries.ts";
import {
  changeEndpoints,
  endpointsUnder,
  registerEndpoint,
  withdrawAllBut,
} from "../../src/callbacks/endpoints.ts";
import { callbackFigures } from "../../src/callbacks/figures.ts";
import type { Database } from "../../src/database/connect.ts";
import { until } from "../lanes/until.ts";
import { type Received, startReceiver } from "./receiver.ts";
import { deliveryOf, ENDPOINT, LOCAL, startSender } from "./sender.ts";

const OTHER = "project:other";

const register = (database: Database, endpoint: { key: string; url: string }) =>
  changeEndpoints(database, (tx) => registerEndpoint(tx, LOCAL, endpoint));

const withdraw = (database: Database, keep: readonly string[] = []) =>
  changeEndpoints(database, (tx) => withdrawAllBut(tx, keep, "no longer configured"));

/** Lanes are looked at and left alone: nothing of the outbox is on its way. */
const quiet = ({ sql }: Database) =>
  until(
    "no lane and no arrival",
    () => sql<{ left: number }[]>`
      select (select count(*) from callback_lanes) + (select count(*) from callback_arrivals) as left`,
    ([row]) => Number(row?.left) === 0,
  );

test("messages for a withdrawn address wait; once it is named again, all are delivered in order at once", async () => {
  let up = false;
  await using receiver = await startReceiver(() => (up ? 204 : 500));
  await using well = await startReceiver();
  const told: string[] = [];
  await using sender = await startSender(receiver.url, {
    retrySeconds: [3_600],
    onGivenUp: async (_tx, { id }) => void told.push(id),
  });
  const { database } = sender;
  await register(database, { key: OTHER, url: well.url });
  await sender.send([
    { id: "a1", lane: "a" },
    { id: "a2", lane: "a" },
    { id: "b1", lane: "b" },
  ]);
  await until(
    "a failure in both lanes",
    () => receiver.received.length,
    (count) => count === 2,
  );
  await until(
    "both recorded",
    () => callbackFigures(database),
    ({ pending }) => pending === 3,
  );
  expect(await withdraw(database, [OTHER])).toEqual([ENDPOINT]);
  expect(await withdraw(database, [OTHER])).toEqual([]);
  expect(await endpointsUnder(database, ENDPOINT)).toMatchObject([
    {
      withdrawnAt: expect.any(String),
      withdrawnReason: "no longer configured",
      disabledAt: null,
    },
  ]);

  up = true;
  // A process with the former configuration still enqueues.
  await sender.send([
    { id: "a3", lane: "a" },
    { id: "other", endpoint: OTHER },
  ]);
  await until(
    "the other endpoint's",
    () => well.accepted(),
    (ids) => ids.length === 1,
  );
  expect(await redeliver(database, { endpoints: [ENDPOINT], id: "b1" })).toBe("waiting");
  await quiet(database);
  expect(receiver.received).toHaveLength(2);
  expect(await callbackFigures(database)).toEqual({
    pending: 0,
    oldestPendingSeconds: 0,
    failing: [],
    disabled: [],
  });
  const listed = await listDeliveries(database, { endpoints: [ENDPOINT], limit: 10 });
  expect(listed.map(({ id, status }) => `${id} ${status}`)).toEqual(
    ["a1", "a2", "b1", "a3"].map((id) => `${id} withdrawn`),
  );

  await register(database, { key: ENDPOINT, url: receiver.url });
  await sender.settled();
  const sent = receiver.accepted();
  expect(sent.filter((id) => id.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
  expect(sent).toContain("b1");
  expect(told).toEqual([]);
  expect(await endpointsUnder(database, ENDPOINT)).toMatchObject([{ withdrawnAt: null }]);
});

test("a worker in the middle of a lane sends nothing after the withdrawal, and its message in flight is sent again later", async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<number>();
  const first = ({ id }: Received, before: number) => {
    if (id !== "one" || before > 0) return 204;
    asked.resolve();
    return answered.promise;
  };
  await using receiver = await startReceiver(first);
  await using sender = await startSender(receiver.url);
  await sender.send([{ id: "one" }, { id: "two" }, { id: "three" }]);
  await asked.promise;
  await withdraw(sender.database);
  answered.resolve(204);
  // Another lane passes through the same worker after the answer, and finds the address closed too.
  await sender.send([{ id: "later", lane: "b" }]);
  await quiet(sender.database);
  expect(receiver.received.map(({ id }) => id)).toEqual(["one"]);
  expect(await deliveryOf(sender.database, "one")).toMatchObject({
    status: "withdrawn",
    attempts: [],
  });

  await register(sender.database, { key: ENDPOINT, url: receiver.url });
  await sender.settled();
  expect(receiver.accepted().filter((id) => id !== "later")).toEqual([
    "one",
    "one",
    "two",
    "three",
  ]);
});

test("an address that answered 410 stays disabled when named again; a different one is enabled", async () => {
  await using gone = await startReceiver(() => 410);
  await using receiver = await startReceiver();
  await using sender = await startSender(gone.url);
  const { database } = sender;
  await sender.send([{ id: "one" }]);
  await sender.settled();
  await withdraw(database);
  await register(database, { key: ENDPOINT, url: gone.url });
  expect(await endpointsUnder(database, ENDPOINT)).toMatchObject([
    { withdrawnAt: null, disabledReason: "answered 410 Gone" },
  ]);
  await withdraw(database);
  await register(database, { key: ENDPOINT, url: receiver.url });
  await sender.send([{ id: "two" }]);
  await sender.settled();
  expect(receiver.accepted()).toEqual(["two"]);
});

test("withdrawing and naming again under load loses nothing and keeps every lane in order", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  await sender.start();
  const { database } = sender;
  const lanes = ["a", "b", "c", "d"];
  for (let round = 0; round < 25; round += 1) {
    await sender.send(lanes.map((lane) => ({ id: `${lane}-${round}`, lane })));
    if (round % 2 === 0) await withdraw(database);
    else await register(database, { key: ENDPOINT, url: receiver.url });
  }
  await register(database, { key: ENDPOINT, url: receiver.url });
  await sender.settled();
  for (const lane of lanes) {
    const seen = receiver.accepted().filter((id) => id.startsWith(lane));
    // What was under way when the address was withdrawn comes twice, before anything later.
    const inOrder = Array.from({ length: 25 }, (_, round) => `${lane}-${round}`);
    expect([...new Set(seen)]).toEqual(inOrder);
    expect(seen).toEqual(seen.toSorted((a, b) => inOrder.indexOf(a) - inOrder.indexOf(b)));
  }
});
