import { describe, expect, inject, test } from "vitest";
import {
  openQueues,
  type Queues,
  QueueTroubleError,
  QueueUnavailableError,
  type Wake,
} from "../../src/lanes/queues.ts";
import { freshDatabase } from "../postgres.ts";
import { inServer } from "../postgres-setup.ts";
import { guest } from "./guest.ts";
import { redisServerPath, startRedis } from "./redis-server.ts";
import { until } from "./until.ts";

/** Queues on either backend, with the errors they reported. */
type Opened = AsyncDisposable & {
  readonly errors: readonly Error[];
  /** The same queues as another process would open them. */
  open(): Queues;
};

/** A wake-up for a lane. */
const wakeFor = (lane: bigint): Wake => ({ id: `lane-${lane}`, lane });

const onPostgres = async (): Promise<Opened> => {
  const database = await freshDatabase();
  return opened((onError) => openQueues({ databaseUrl: database.url, onError }), database);
};

const redisPath = await redisServerPath();
if (redisPath === undefined) console.warn("no redis-server on this machine: its tests are skipped");

const onRedis = async (): Promise<Opened> => {
  if (redisPath === undefined) throw new Error("no redis-server");
  const server = await startRedis(redisPath);
  // Nothing of the queue may go to Postgres when Redis is configured.
  const databaseUrl = "postgres://nobody@127.0.0.1:1/nowhere";
  return opened((onError) => openQueues({ databaseUrl, redisUrl: server.url, onError }), server);
};

const opened = (
  open: (onError: (error: Error) => void) => Queues,
  below: AsyncDisposable,
): Opened => {
  const errors: Error[] = [];
  const all: Queues[] = [];
  return {
    errors,
    open: () => {
      const queues = open((error) => errors.push(error));
      all.push(queues);
      return queues;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((queues) => queues.close()));
      await below[Symbol.asyncDispose]();
    },
  };
};

const backends = [
  { name: "Postgres", start: onPostgres, skip: false },
  { name: "Redis", start: onRedis, skip: redisPath === undefined },
];

for (const { name, start, skip } of backends) {
  describe.skipIf(skip)(`a queue on ${name}`, () => {
    test("hands every wake-up to one of several workers, across processes", async () => {
      await using backend = await start();
      const [adding, one, two] = [backend.open(), backend.open(), backend.open()];
      const seen = { one: [] as bigint[], two: [] as bigint[] };
      for (const [queues, list] of [
        [one, seen.one],
        [two, seen.two],
      ] as const) {
        const worker = queues.worker("lanes", {
          concurrency: 2,
          run: async (lane) => void list.push(lane),
        });
        await worker.ready();
      }
      const lanes = Array.from({ length: 50 }, (_, index) => BigInt(index));
      await adding.queue("lanes").add(lanes.map(wakeFor));
      const all = await until(
        "fifty wake-ups",
        () => [...seen.one, ...seen.two],
        (list) => list.length >= 50,
      );
      expect(new Set(all)).toEqual(new Set(lanes));
      expect(all).toHaveLength(50);
    });

    test("accepts an id once while its wake-up is queued, and again after it is done or has failed", async () => {
      await using backend = await start();
      const queues = backend.open();
      const queue = queues.queue("lanes");
      await queue.add([wakeFor(7n)]);
      await queue.add([wakeFor(7n), wakeFor(8n)]);
      const runs: bigint[] = [];
      queues.worker("lanes", {
        concurrency: 1,
        run: async (lane) => {
          runs.push(lane);
          if (runs.length === 1) throw new Error("the first run fails");
        },
      });
      await until(
        "both lanes",
        () => runs,
        ({ length }) => length >= 2,
      );
      expect(runs).toEqual([7n, 8n]);
      expect(backend.errors.map(String)).toEqual(["Error: the first run fails"]);
      for (const lane of [7n, 8n]) {
        const before = runs.length;
        await until(
          "it to run again",
          async () => {
            await queue.add([wakeFor(lane)]);
            return runs.slice(before);
          },
          (list) => list.includes(lane),
        );
      }
    });

    test("closing a worker tells running jobs to stop and waits for them", async () => {
      await using backend = await start();
      const queues = backend.open();
      const said: string[] = [];
      const worker = queues.worker("lanes", {
        concurrency: 1,
        run: async (_lane, signal) => {
          said.push("started");
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          said.push("stopped");
        },
      });
      await queues.queue("lanes").add([wakeFor(1n)]);
      await until(
        "the job to start",
        () => said,
        (list) => list.includes("started"),
      );
      await worker.close();
      expect(said).toEqual(["started", "stopped"]);
    });
  });
}

test("a queue whose Postgres is unreachable says so, with remedy retry", async () => {
  const errors: Error[] = [];
  await using queues = openQueues({
    databaseUrl: "postgres://nobody@127.0.0.1:1/nowhere",
    onError: (error) => errors.push(error),
  });
  const failure = await queues
    .queue("lanes")
    .add([wakeFor(1n)])
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(QueueUnavailableError);
  expect(failure).toMatchObject({ remedy: "retry" });
  expect(String(failure)).toContain("queue lanes on postgres");
});

test("a queue for which Postgres first had no room accepts wake-ups later", async () => {
  await using database = await freshDatabase();
  await using login = await guest(database);
  await using queues = openQueues({ databaseUrl: login.url, onError: () => undefined });
  await login.limit(0);
  const queue = queues.queue("lanes");
  const worker = queues.worker("lanes", { concurrency: 1, run: async () => undefined });
  const noRoom = /queue lanes on postgres is not available: too many connections for role/;
  await expect(worker.ready()).rejects.toThrow(noRoom);
  await expect(queue.add([wakeFor(1n)])).rejects.toThrow(noRoom);
  await login.limit(100);
  await until(
    "the queue to take it",
    () =>
      queue.add([wakeFor(1n)]).then(
        () => "taken",
        (error: unknown) => `${error}`,
      ),
    (said) => said === "taken",
  );
});

test("a connection cut by the database is logged without its settings, and work continues", async () => {
  await using database = await freshDatabase();
  const errors: Error[] = [];
  await using queues = openQueues({
    databaseUrl: database.url,
    onError: (error) => errors.push(error),
  });
  const lanes: bigint[] = [];
  const worker = queues.worker("lanes", {
    concurrency: 1,
    run: async (lane) => void lanes.push(lane),
  });
  await worker.ready();
  const queue = queues.queue("lanes");
  await queue.add([wakeFor(1n)]);
  await until(
    "the first job",
    () => lanes,
    (list) => list.length === 1,
  );
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and application_name not in ('test')`;
  // The first statements may meet the connections that were cut.
  await until(
    "the queue to take a job",
    () =>
      queue.add([wakeFor(2n)]).then(
        () => true,
        () => false,
      ),
    (taken) => taken,
  );
  await until(
    "the second job",
    () => lanes,
    (list) => list.includes(2n),
  );
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) {
    expect(error).toBeInstanceOf(QueueTroubleError);
    expect(Object.keys(error).toSorted()).toEqual(["name", "remedy"]);
  }
});

test("a worker retries a server that lost the database a few times a second at most, and recovers", async () => {
  await using database = await freshDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const failedAtMs: number[] = [];
  await using queues = openQueues({
    databaseUrl: database.url,
    onError: () => failedAtMs.push(performance.now()),
  });
  const lanes: bigint[] = [];
  const worker = queues.worker("lanes", {
    concurrency: 4,
    run: async (lane) => void lanes.push(lane),
  });
  await worker.ready();
  await queues.queue("lanes").add([wakeFor(1n)]);
  await until(
    "the first job",
    () => lanes,
    (list) => list.length === 1,
  );
  // Whoever was cut off may be back before it is renamed.
  const renamed = (from: string, to: string) =>
    until(
      `${from} to be renamed`,
      () =>
        inServer(inject("postgresUrl"), async (sql) => {
          await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${from}`;
          await sql.unsafe(`alter database ${from} rename to ${to}`);
        }).then(
          () => "renamed",
          (error: unknown) => `${error}`,
        ),
      (said) => said === "renamed",
    );
  await renamed(name, `${name}_away`);
  const since = failedAtMs.length;
  await until(
    "errors over more than two seconds",
    () => (failedAtMs.at(-1) ?? 0) - (failedAtMs[since] ?? Number.POSITIVE_INFINITY),
    (overMs) => overMs > 2_500,
  );
  const overMs = (failedAtMs.at(-1) ?? 0) - (failedAtMs[since] ?? 0);
  expect((failedAtMs.length - since) / (overMs / 1_000)).toBeLessThan(4);

  await renamed(`${name}_away`, name);
  await queues.queue("lanes").add([wakeFor(2n)]);
  await until(
    "a job after the database was back",
    () => lanes,
    (list) => list.includes(2n),
  );
});

test.skipIf(redisPath === undefined)("closing does not wait for an absent Redis", async () => {
  const server = await startRedis(redisPath ?? "");
  const queues = openQueues({
    databaseUrl: "postgres://nobody@127.0.0.1:1/nowhere",
    redisUrl: server.url,
    onError: () => undefined,
  });
  const worker = queues.worker("lanes", { concurrency: 1, run: async () => undefined });
  await worker.ready();
  await queues.queue("lanes").add([wakeFor(1n)]);
  await server.stop();
  const started = performance.now();
  await queues.close();
  expect(performance.now() - started).toBeLessThan(30_000);
});
