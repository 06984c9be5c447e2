import { expect, test } from "vitest";
import { redeliver } from "../../src/callbacks/deliveries.ts";
import {
  enableEndpoint,
  endpointsUnder,
  registerEndpoint,
  UnknownEndpointError,
} from "../../src/callbacks/endpoints.ts";
import { callbackFigures } from "../../src/callbacks/figures.ts";
import type { GivenUp } from "../../src/callbacks/record.ts";
import { until } from "../lanes/until.ts";
import { startReceiver } from "./receiver.ts";
import { deliveryOf, ENDPOINT, LOCAL, startSender } from "./sender.ts";

test("after its last attempt a message is given up, its owner's hook runs once, and the next message follows", async () => {
  await using receiver = await startReceiver(({ id }) => (id === "bad" ? 500 : 200));
  const told: GivenUp[] = [];
  await using sender = await startSender(receiver.url, {
    retrySeconds: [0.02, 0.02],
    onGivenUp: async (tx, message) => {
      told.push(message);
      // Written with the giving up, or not at all.
      await tx.sql`create table if not exists given_up (id text primary key)`;
      await tx.sql`insert into given_up values (${message.id})`;
    },
  });
  await sender.send([{ id: "bad", reference: "request-1" }, { id: "good" }]);
  await sender.settled();
  expect(receiver.received.map(({ id }) => id)).toEqual(["bad", "bad", "bad", "good"]);
  expect(await sender.statuses()).toEqual({ bad: "failed", good: "delivered" });
  expect(told).toEqual([
    {
      id: "bad",
      endpoint: ENDPOINT,
      lane: "token-1",
      type: "transfer_event",
      reference: "request-1",
      reason: "attempts_exhausted",
      attempts: 3,
    },
  ]);
  expect(await sender.database.sql`select id from given_up`).toEqual([{ id: "bad" }]);
});

test("a failing hook is retried later, without another request, while its lane waits", async () => {
  await using receiver = await startReceiver(({ id }) => (id === "bad" ? 500 : 200));
  let asked = 0;
  await using sender = await startSender(receiver.url, {
    retrySeconds: [],
    onGivenUp: async () => {
      asked += 1;
      if (asked === 1) throw new Error("the hook's table is locked");
    },
  });
  await sender.send([{ id: "bad" }, { id: "good" }]);
  await until(
    "the hook to fail",
    () => asked,
    (count) => count === 1,
  );
  await until(
    "the error in the log",
    () => sender.logged.join(""),
    (log) => log.includes("table is locked"),
  );
  expect(await sender.statuses()).toEqual({ bad: "pending", good: "pending" });
  await sender.settled();
  expect(asked).toBe(2);
  expect(receiver.received.map(({ id }) => id)).toEqual(["bad", "good"]);
});

test("410 disables the address: pending and later messages are not sent", async () => {
  let gone = true;
  await using receiver = await startReceiver(() => (gone ? 410 : 200));
  const told: string[] = [];
  await using sender = await startSender(receiver.url, {
    onGivenUp: async (_tx, { id, reason }) => void told.push(`${id} ${reason}`),
  });
  await sender.send([
    { id: "a1", lane: "a" },
    { id: "a2", lane: "a" },
  ]);
  await sender.settled();
  await sender.send([{ id: "b1", lane: "b" }]);
  await sender.settled();
  expect(receiver.received.map(({ id }) => id)).toEqual(["a1"]);
  expect(await sender.statuses()).toEqual({ a1: "disabled", a2: "disabled", b1: "disabled" });
  expect(told.toSorted()).toEqual(["a1", "a2", "b1"].map((id) => `${id} endpoint_disabled`));
  expect(await deliveryOf(sender.database, "a1")).toMatchObject({
    attempts: [{ statusCode: 410, error: "answered 410; the address is disabled" }],
  });
  const disabled = { disabledAt: expect.any(String), disabledReason: "answered 410 Gone" };
  expect(await endpointsUnder(sender.database, ENDPOINT)).toMatchObject([disabled]);
  expect((await callbackFigures(sender.database)).disabled).toMatchObject([{ key: ENDPOINT }]);

  // Registering the same address again, as every start does, changes nothing.
  await registerEndpoint(sender.database, LOCAL, { key: ENDPOINT, url: receiver.url });
  expect(await endpointsUnder(sender.database, ENDPOINT)).toMatchObject([disabled]);

  gone = false;
  await enableEndpoint(sender.database, ENDPOINT, { resend: true });
  await sender.settled();
  const sent = receiver.accepted();
  expect(sent.toSorted()).toEqual(["a1", "a2", "b1"]);
  expect(sent.indexOf("a1")).toBeLessThan(sent.indexOf("a2"));
  expect(told).toHaveLength(3);
});

test("a redelivery sends the same body under the same webhook-id, with a new signature", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  await sender.send([{ id: "evt_1", body: { amount: 5n } }, { id: "evt_2" }]);
  await sender.settled();
  const again = { endpoints: [ENDPOINT], id: "evt_1" };
  expect(await redeliver(sender.database, again)).toBe("accepted");
  await sender.settled();
  expect(receiver.accepted()).toEqual(["evt_1", "evt_2", "evt_1"]);
  const [first, , second] = receiver.received;
  expect(second?.body).toBe(first?.body);
  const delivery = await deliveryOf(sender.database, "evt_1");
  expect(delivery.attempts.map(({ statusCode }) => statusCode)).toEqual([204, 204]);

  expect(await redeliver(sender.database, { ...again, endpoints: ["project:other"] })).toBe(
    "unknown",
  );
  expect(await redeliver(sender.database, { ...again, id: "evt_9" })).toBe("unknown");
});

test("a failed redelivery leaves a delivered message delivered, and notifies no one", async () => {
  let up = true;
  await using receiver = await startReceiver(() => (up ? 200 : 500));
  const told: string[] = [];
  await using sender = await startSender(receiver.url, {
    retrySeconds: [0.02],
    onGivenUp: async (_tx, { id }) => void told.push(id),
  });
  await sender.send([{ id: "evt_1" }]);
  await sender.settled();
  up = false;
  await redeliver(sender.database, { endpoints: [ENDPOINT], id: "evt_1" });
  await sender.settled();
  expect(receiver.received).toHaveLength(3);
  expect(await sender.statuses()).toEqual({ evt_1: "delivered" });
  expect(told).toEqual([]);
});

test("redelivering a given-up message succeeds; redelivering a pending one tries it at once", async () => {
  let up = false;
  await using receiver = await startReceiver(() => (up ? 200 : 500));
  await using sender = await startSender(receiver.url, { retrySeconds: [3_600] });
  await sender.send([{ id: "evt_1" }]);
  const attempts = async () => (await deliveryOf(sender.database, "evt_1")).attempts.length;
  await until("the first attempt", attempts, (count) => count === 1);
  const again = { endpoints: [ENDPOINT], id: "evt_1" };
  expect(await redeliver(sender.database, again)).toBe("pending");
  await sender.settled();
  expect(await sender.statuses()).toEqual({ evt_1: "failed" });
  up = true;
  expect(await redeliver(sender.database, again)).toBe("accepted");
  await sender.settled();
  expect(await sender.statuses()).toEqual({ evt_1: "delivered" });
});

test("figures show what is pending, for how long, and which endpoint keeps failing", async () => {
  let up = false;
  await using receiver = await startReceiver(() => (up ? 200 : 503));
  const retrySeconds = [0.02, 0.02, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3];
  await using sender = await startSender(receiver.url, { retrySeconds });
  expect(await callbackFigures(sender.database)).toEqual({
    pending: 0,
    oldestPendingSeconds: 0,
    failing: [],
    disabled: [],
  });
  await sender.send([{ id: "evt_1" }, { id: "evt_2" }]);
  const figures = await until(
    "a failing endpoint",
    () => callbackFigures(sender.database),
    ({ failing }) => failing.length > 0,
  );
  expect(figures).toMatchObject({
    pending: 2,
    failing: [{ key: ENDPOINT, lastError: "answered 503", failingSince: expect.any(String) }],
  });
  expect(figures.oldestPendingSeconds).toBeGreaterThan(0);
  up = true;
  await sender.settled();
  expect(await callbackFigures(sender.database)).toMatchObject({ pending: 0, failing: [] });
});

test("a re-enabled address gets new messages, and the older ones on request", async () => {
  let gone = true;
  await using receiver = await startReceiver(() => (gone ? 410 : 204));
  await using sender = await startSender(receiver.url);
  await sender.send([{ id: "evt_1" }]);
  await sender.settled();
  gone = false;
  await enableEndpoint(sender.database, ENDPOINT, { resend: false });
  await sender.send([{ id: "evt_2" }]);
  await sender.settled();
  expect(receiver.accepted()).toEqual(["evt_2"]);
  expect(await sender.statuses()).toEqual({ evt_1: "disabled", evt_2: "delivered" });
  const unknown = enableEndpoint(sender.database, "project:nobody", { resend: true });
  await expect(unknown).rejects.toThrow(UnknownEndpointError);
});
