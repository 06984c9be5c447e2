/** Processes that deliver callbacks, killed again and again. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { callbackOf, ENDPOINT, LOCAL } from "../callbacks/sender.ts";
import type { WorkerProcessSettings } from "../callbacks/worker-process.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { randomFor, rounds, tally } from "../random.ts";
import { WorkerProcesses } from "../worker-processes.ts";

const PROGRAM = new URL("../callbacks/worker-process.ts", import.meta.url);
/** Lanes of a process at a time: so many requests are under way when it is killed. */
const CONCURRENCY = 4;
const DRAIN_MS = 120_000;

const redisPath = await redisServerPath();
test.for(redisPath === undefined ? ["Postgres"] : ["Postgres", "Redis"])(
  "processes killed repeatedly, woken by %s: every callback arrives, each lane in order",
  async (backend) => {
    const random = randomFor(backend);
    await using database = await freshDatabase({ max: 4 });
    await using redis =
      backend === "Redis" && redisPath !== undefined ? await startRedis(redisPath) : null;
    await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
      databaseUrl: database.url,
      redisUrl: redis?.url,
      masterKey: randomBytes(32).toString("base64"),
      leaseMs: 1_500,
    });
    await using receiver = await startReceiver(async ({ id }, before) => {
      await delay(2);
      // Some fail once, so that lanes also wait and are woken.
      return before === 0 && Number(id.split("-")[1]) % 13 === 0 ? 500 : 200;
    });
    await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: receiver.url });
    const lanes = Array.from({ length: 10 }, (_, index) => `lane${index}`);
    await Promise.all([workers.start(), workers.start()]);
    let perLane = 0;
    let killed = 0;
    for (const _ of rounds(3, 3)) {
      for (const last = perLane + 15 + random(10); perLane < last; perLane += 1) {
        const messages = lanes.map((lane) => callbackOf({ id: `${lane}-${perLane}`, lane }));
        await database.transaction((tx) => enqueueCallbacks(tx, messages));
      }
      await delay(random(400));
      await workers.killOne();
      killed += 1;
      await workers.start();
    }
    await until(
      "nothing pending",
      () => listDeliveries(database, { endpoints: [ENDPOINT], limit: 1, status: "pending" }),
      ({ length }) => length === 0,
      DRAIN_MS,
    );
    const accepted = receiver.accepted();
    const expected = Array.from({ length: perLane }, (_, index) => index);
    for (const lane of lanes) {
      // A receiver acts once per id, at the first time.
      const ids = [...new Set(accepted.filter((id) => id.startsWith(`${lane}-`)))];
      expect(ids).toEqual(expected.map((index) => `${lane}-${index}`));
    }
    const twice = accepted.length - lanes.length * perLane;
    expect(twice).toBeLessThanOrEqual(killed * CONCURRENCY);
    const delivered = lanes.length * perLane;
    tally({ "processes killed": killed, "callbacks delivered": delivered, "of them twice": twice });
  },
);
