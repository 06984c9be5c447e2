// @module-tag thorough
import { expect, test } from "vitest";
import { openQueues, QueueUnavailableError } from "../../src/lanes/queues.ts";
import { breakableWay } from "../database/outage.ts";
import { freshDatabase } from "../postgres.ts";
import { redisServerPath, startRedis } from "./redis-server.ts";
import { until } from "./until.ts";

const redisPath = await redisServerPath();

/** Connections are given up after half a minute of silence. */
const AGAIN_WITHIN_MS = 150_000;

test.each([
  {
    backend: "Postgres",
    isThere: true,
    start: async () => await freshDatabase(),
    addresses: (url: string) => ({ databaseUrl: url }),
  },
  {
    backend: "Redis",
    isThere: redisPath !== undefined,
    start: () => startRedis(redisPath ?? ""),
    addresses: (url: string) => ({
      databaseUrl: "postgres://nobody@127.0.0.1:1/no",
      redisUrl: url,
    }),
  },
])(
  "a queue whose $backend fell silent accepts wake-ups again over new connections",
  async ({ isThere, start, addresses }) => {
    if (!isThere) return console.warn("no redis-server on this machine: its test is skipped");
    await using server = await start();
    await using way = await breakableWay(server.url);
    await using queues = openQueues({ ...addresses(way.url), onError: () => undefined });
    const queue = queues.queue("silent");
    // More at once than it has connections: one that is left, or made later, would go on by itself.
    const several = (id: string) =>
      Array.from({ length: 8 }, (_, n) => queue.add([{ id: `${id} ${n}`, lane: 1n }]));
    await Promise.all(several("before"));
    way.fallSilent();
    const refused = several("during").map((each) =>
      expect(each).rejects.toThrow(QueueUnavailableError),
    );
    way.speakAgain();
    await Promise.all(refused);
    const added = () =>
      queue.add([{ id: "after", lane: 3n }]).then(
        () => "added",
        (error: Error) => error.message,
      );
    await until("a wake-up taken", added, (seen) => seen === "added", AGAIN_WITHIN_MS);
  },
  240_000,
);
