import { expect, test } from "vitest";
import { endpointSlots } from "../../src/callbacks/callbacks.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { until } from "../lanes/until.ts";
import { startReceiver } from "./receiver.ts";
import { LOCAL, startSender } from "./sender.ts";

test("one endpoint takes at most half of the workers, a failing one two, and slots return", () => {
  const slots = endpointSlots(8);
  const taken = Array.from({ length: 4 }, () => slots.take("a", false));
  expect(taken.every((slot) => "release" in slot)).toBe(true);
  expect(slots.take("a", false)).toEqual({ waitMs: expect.any(Number) });
  expect(slots.take("b", true)).toHaveProperty("release");
  expect(slots.take("b", true)).toHaveProperty("release");
  expect(slots.take("b", true)).toHaveProperty("waitMs");
  const [first] = taken;
  if (first !== undefined && "release" in first) first.release();
  expect(slots.take("a", false)).toHaveProperty("release");
});

test("a receiver that hangs in every lane leaves workers for the others", async () => {
  await using well = await startReceiver();
  // Answers nothing before the other receiver has got everything.
  await using hanging = await startReceiver(async () => {
    await until(
      "the other receiver",
      () => well.accepted().length,
      (count) => count === 5,
    );
    return 200;
  });
  await using sender = await startSender(hanging.url, { concurrency: 4, leaseMs: 40_000 });
  await registerEndpoint(sender.database, LOCAL, { key: "project:other", url: well.url });
  await sender.send(Array.from({ length: 12 }, (_, n) => ({ id: `slow_${n}`, lane: `lane-${n}` })));
  await until(
    "two hanging requests",
    () => hanging.received.length,
    (count) => count === 2,
  );
  const others = Array.from({ length: 5 }, (_, n) => ({ id: `ok_${n}`, lane: `lane-${n}` }));
  await sender.send(others.map((draft) => ({ ...draft, endpoint: "project:other" })));
  await sender.settled();
  expect(well.accepted()).toHaveLength(5);
  expect(hanging.accepted()).toHaveLength(12);
});

test("stopping waits for a request in flight; one that takes too long is repeated later", async () => {
  let held: (() => void) | undefined;
  let patient = false;
  await using receiver = await startReceiver(({ id }) => {
    if (id === "long" && !patient) return () => undefined;
    return new Promise((resolve) => {
      held = () => resolve(200);
      if (patient) held();
    });
  });
  await using sender = await startSender(receiver.url, { delivering: false, graceMs: 1_000 });
  const first = await sender.start();
  await sender.send([
    { id: "short", lane: "a" },
    { id: "long", lane: "b" },
  ]);
  await until(
    "both requests",
    () => receiver.received.length,
    (count) => count === 2,
  );
  const stopped = first.stop();
  held?.();
  await stopped;
  expect(await sender.statuses()).toEqual({ short: "delivered", long: "pending" });
  patient = true;
  await sender.start();
  await sender.settled();
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(["long", "long", "short"]);
  const [row] = await sender.database.sql`select attempts from callback_messages where id = 'long'`;
  // Nothing is known about the one that was given up, so it does not count.
  expect(row).toEqual({ attempts: 1 });
});
