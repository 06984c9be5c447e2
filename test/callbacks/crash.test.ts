import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { claimAndRead, deliveryLanes, readLane } from "../../src/callbacks/lanes.ts";
import { recordDelivered, recordFailed, recordGivenUp } from "../../src/callbacks/record.ts";
import { moveArrivals } from "../../src/lanes/due.ts";
import { LaneLostError } from "../../src/lanes/lanes.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { callbackOf, ENDPOINT, LOCAL } from "./sender.ts";
import type { WorkerProcessSettings } from "./worker-process.ts";

const PROGRAM = fileURLToPath(new URL("./worker-process.ts", import.meta.url));
const LEASE_MS = 1_500;

/** Worker processes on one database. */
class Workers implements AsyncDisposable {
  readonly #settings: WorkerProcessSettings;
  readonly #running = new Set<ChildProcess>();

  constructor(database: TestDatabase, redisUrl?: string) {
    const masterKey = randomBytes(32).toString("base64");
    this.#settings = { databaseUrl: database.url, redisUrl, masterKey, leaseMs: LEASE_MS };
  }

  async start(): Promise<ChildProcess> {
    const args = ["--disable-warning=ExperimentalWarning", PROGRAM, JSON.stringify(this.#settings)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#running.add(child);
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await until(
      "the worker process",
      () => said,
      (text) => text.includes("ready"),
      30_000,
    );
    return child;
  }

  async kill(child: ChildProcess): Promise<void> {
    this.#running.delete(child);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose]() {
    await Promise.all([...this.#running].map((child) => this.kill(child)));
  }
}

const enqueue = (database: TestDatabase, messages: readonly { id: string; lane: string }[]) =>
  database.transaction((tx) => enqueueCallbacks(tx, messages.map(callbackOf)));

const pendingIn = async ({ sql }: TestDatabase) => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from callback_messages where status = 'pending'`;
  return row?.count ?? 0;
};

/** The first time each id was accepted: what a receiver that acts once per id sees. */
const effects = (receiver: Receiver, lane: string) => [
  ...new Set(receiver.accepted().filter((id) => id.startsWith(`${lane}-`))),
];

test("a worker killed in the middle of a request loses nothing and changes no order", async () => {
  await using database = await freshDatabase();
  await using workers = new Workers(database);
  let hang = true;
  // The second message is received, and its sender dies before it hears that.
  await using receiver = await startReceiver(({ id }) =>
    hang && id === "lane-1" ? () => undefined : 200,
  );
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: receiver.url });
  const first = await workers.start();
  const messages = Array.from({ length: 4 }, (_, index) => ({ id: `lane-${index}`, lane: "lane" }));
  await enqueue(database, messages);
  await until(
    "the request that hangs",
    () => receiver.received.map(({ id }) => id),
    (ids) => ids.includes("lane-1"),
  );
  await workers.kill(first);
  hang = false;
  await workers.start();
  await until(
    "nothing pending",
    () => pendingIn(database),
    (count) => count === 0,
  );
  expect(receiver.received.map(({ id }) => id)).toEqual([
    "lane-0",
    "lane-1",
    "lane-1",
    "lane-2",
    "lane-3",
  ]);
  // Its own statement, after the last message's.
  await until(
    "the lane to be gone",
    async () => (await database.sql`select 1 from callback_lanes`).length,
    (lanes) => lanes === 0,
  );
});

const redisPath = await redisServerPath();
for (const [backend, skip] of [
  ["Postgres", false],
  ["Redis", redisPath === undefined],
] as const) {
  test.skipIf(skip)(
    `processes killed again and again, woken by ${backend}: everything arrives, each lane in order`,
    { timeout: 60_000 },
    async () => {
      await using database = await freshDatabase({ max: 4 });
      await using redis =
        backend === "Redis" && redisPath !== undefined ? await startRedis(redisPath) : null;
      await using workers = new Workers(database, redis?.url);
      await using receiver = await startReceiver(async ({ id }, before) => {
        await delay(2);
        // Some fail once, so that lanes also wait and are woken.
        return before === 0 && Number(id.split("-")[1]) % 13 === 0 ? 500 : 200;
      });
      await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: receiver.url });
      const lanes = Array.from({ length: 10 }, (_, index) => `lane${index}`);
      const perLane = 60;

      let [one, two] = await Promise.all([workers.start(), workers.start()]);
      for (let index = 0; index < perLane; index += 1) {
        await enqueue(
          database,
          lanes.map((lane) => ({ id: `${lane}-${index}`, lane })),
        );
        if (index % 20 === 10) {
          await workers.kill(one);
          [one, two] = [two, await workers.start()];
        }
      }
      await workers.kill(two);
      await until(
        "nothing pending",
        () => pendingIn(database),
        (count) => count === 0,
        30_000,
      );
      for (const lane of lanes) {
        const expected = Array.from({ length: perLane }, (_, index) => `${lane}-${index}`);
        expect(effects(receiver, lane)).toEqual(expected);
      }
      // Only a killed worker's requests under way may come twice: at most 4 lanes each of 4 kills.
      const twice = receiver.accepted().length - lanes.length * perLane;
      expect(twice).toBeLessThanOrEqual(16);
    },
  );
}

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

test("what a worker writes after its lane was taken over is refused", async () => {
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

test("a lane is not forgotten when something arrives just as it is found empty", async () => {
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
