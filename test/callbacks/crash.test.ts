import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { claimAndRead, deliveryLanes, readLane } from "../../src/callbacks/lanes.ts";
import { recordDelivered, recordFailed, recordGivenUp } from "../../src/callbacks/record.ts";
import { moveArrivals } from "../../src/lanes/due.ts";
import { LaneLostError } from "../../src/lanes/lanes.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { WorkerProcesses } from "../worker-processes.ts";
import { startReceiver } from "./receiver.ts";
import { callbackOf, ENDPOINT, LOCAL } from "./sender.ts";
import type { WorkerProcessSettings } from "./worker-process.ts";

const PROGRAM = new URL("./worker-process.ts", import.meta.url);
/** How long the lanes of a killed process rest. */
const LEASE_MS = 1_500;

const enqueue = (database: TestDatabase, messages: readonly { id: string; lane: string }[]) =>
  database.transaction((tx) => enqueueCallbacks(tx, messages.map(callbackOf)));

const redisPath = await redisServerPath();
test.for(redisPath === undefined ? ["Postgres"] : ["Postgres", "Redis"])(
  "a worker killed before, during or after a request, woken by %s, loses nothing and changes no order",
  { timeout: 300_000 },
  async (backend) => {
    await using database = await freshDatabase();
    await using redis =
      backend === "Redis" && redisPath !== undefined ? await startRedis(redisPath) : null;
    await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
      databaseUrl: database.url,
      redisUrl: redis?.url,
      masterKey: randomBytes(32).toString("base64"),
      leaseMs: LEASE_MS,
    });
    const hanging = Promise.withResolvers<void>();
    await using receiver = await startReceiver(({ id }, before) => {
      if (id !== "received-1" || before > 0) return 200;
      // Its sender dies before it hears that.
      hanging.resolve();
      return () => undefined;
    });
    await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: receiver.url });
    await workers.start();
    for (const [step, sentTwice] of [
      ["sending", []],
      ["received", ["received-1"]],
      ["answered", ["answered-1"]],
    ] as const) {
      const ids = [0, 1, 2, 3].map((n) => `${step}-${n}`);
      if (step === "received") {
        await enqueue(
          database,
          ids.map((id) => ({ id, lane: step })),
        );
        await hanging.promise;
        await workers.killOne();
      } else {
        const { died } = await workers.letDieAt(`${step} ${step}-1`);
        await enqueue(
          database,
          ids.map((id) => ({ id, lane: step })),
        );
        await died;
      }
      await workers.start();
      await until(
        "nothing pending",
        () => listDeliveries(database, { endpoints: [ENDPOINT], limit: 100, status: "pending" }),
        (pending) => pending.length === 0,
      );
      const received = receiver.received.map(({ id }) => id).filter((id) => id.startsWith(step));
      expect(received).toEqual([...ids, ...sentTwice].toSorted());
    }
    // Leaving an empty lane is a statement of its own, after that of the last message.
    await until(
      "the lanes to be gone",
      async () => (await database.sql`select 1 from callback_lanes`).length,
      (lanes) => lanes === 0,
    );
  },
);

/** A lane with one message, and claims of it. */
const oneLane = async (database: TestDatabase) => {
  const { sql } = database;
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:9/" });
  await enqueue(database, [{ id: "m-1", lane: "m" }]);
  const { fresh } = await moveArrivals(sql, deliveryLanes, 10, 0);
  const take = async () => {
    const taken = await claimAndRead(sql, fresh[0]?.id ?? 0n, 60_000);
    if (taken === undefined) throw new Error("the lane was not claimed");
    return taken;
  };
  return { take };
};

test("a worker's writes after its lane was taken over are refused", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const { take } = await oneLane(database);
  const { claim: former } = await take();
  await sql`update callback_lanes set leased_until = now()`;
  const { claim: present } = await take();

  const message = { id: "m-1", body: "{}", attempts: 0, scheduled: 0 };
  const attempt = {
    at: new Date(),
    url: "http://127.0.0.1:9/",
    statusCode: 200,
    error: null,
    durationMs: 1,
    retryAfterMs: undefined,
  };
  for (const written of [
    () => readLane(sql, former),
    () => recordDelivered(sql, former, message, attempt),
    () => recordFailed(sql, former, message, { ...attempt, statusCode: 410 }, 0),
    () => recordFailed(sql, former, message, { ...attempt, statusCode: 500 }, 1_000),
    () => recordGivenUp(database, former, [message], "attempts_exhausted", undefined),
  ]) {
    await expect(written()).rejects.toThrow(LaneLostError);
  }
  const written = await sql`
    select status, attempts, (select count(*)::int4 from callback_attempts) as recorded,
           (select count(*)::int4 from callback_endpoints where disabled_at is not null) as disabled
    from callback_messages`;
  expect(written).toEqual([{ status: "pending", attempts: 0, recorded: 0, disabled: 0 }]);
  await recordDelivered(sql, present, message, attempt);
  expect(await sql`select status from callback_messages`).toEqual([{ status: "delivered" }]);
});

test("a lane is kept when a message arrives just as it is found empty", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const { claim } = await (await oneLane(database)).take();
  await sql`update callback_messages set status = 'delivered'`;
  const empty = await readLane(sql, claim);
  expect(empty.messages).toEqual([]);

  await enqueue(database, [{ id: "m-2", lane: "m" }]);
  await moveArrivals(sql, deliveryLanes, 10, 0);
  expect(await deliveryLanes.leaveEmpty(sql, claim, empty.arrivals)).toBe(false);
  const view = await readLane(sql, claim);
  expect(view.messages.map(({ id }) => id)).toEqual(["m-2"]);
  await sql`update callback_messages set status = 'delivered'`;
  expect(await deliveryLanes.leaveEmpty(sql, claim, view.arrivals)).toBe(true);
});
