// @module-tag thorough
import { expect, test } from "vitest";
import { openQueues, QueueUnavailableError } from "../../src/lanes/queues.ts";
import { breakableWay } from "../database/outage.ts";
import { freshDatabase } from "../postgres.ts";
import { redisServerPath, startRedis } from "./redis-server.ts";
import { until } from "./until.ts";

const redisPath = await redisServerPath();

test.each([
  {
    backend: "Postgres",
    isThere: true,
    // Connections are given up after half a minute of silence.
    againWithinMs: 150_000,
    start: async () => await freshDatabase(),
    addresses: (url: string) => ({ databaseUrl: url }),
  },
  {
    backend: "Redis",
    isThere: redisPath !== undefined,
    againWithinMs: 30_000,
    start: () => startRedis(redisPath ?? ""),
    addresses: (url: string) => ({
      databaseUrl: "postgres://nobody@127.0.0.1:1/no",
      redisUrl: url,
    }),
  },
])(
  "a queue whose $backend fell silent works on wake-ups again over new connections",
  async ({ isThere, againWithinMs, start, addresses }) => {
    if (!isThere) return console.warn("no redis-server on this machine: its test is skipped");
    await using server = await start();
    await using way = await breakableWay(server.url);
    await using queues = openQueues({ ...addresses(way.url), onError: () => undefined });
    const queue = queues.queue("silent");
    const worked = new Set<bigint>();
    const worker = queues.worker("silent", {
      concurrency: 2,
      run: async (lane) => void worked.add(lane),
    });
    await worker.ready();
    // More at once than it has connections: one that is left, or made later, would go on by itself.
    const several = (id: string) =>
      Array.from({ length: 8 }, (_, n) => queue.add([{ id: `${id} ${n}`, lane: 1n }]));
    await Promise.all(several("before"));
    await until(
      "a worker",
      () => worked.has(1n),
      (isTaken) => isTaken,
    );
    const beganMs = performance.now();
    way.fallSilent();
    const refused = several("during").map((each) =>
      expect(each).rejects.toThrow(QueueUnavailableError),
    );
    way.speakAgain();
    await Promise.all(refused);
    // As lanes do: a wake-up that is lost is added again.
    const add = () =>
      queue.add([{ id: `after ${performance.now()}`, lane: 3n }]).then(
        () => "added",
        (error: Error) => error.message,
      );
    await until(
      "a wake-up that is worked on",
      async () => (worked.has(3n) ? "worked" : await add()),
      (seen) => seen === "worked",
      againWithinMs - (performance.now() - beganMs),
    );
  },
  240_000,
);
