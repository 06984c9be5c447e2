import { describe, expect, test } from "vitest";
import {
  openQueues,
  type Queues,
  QueueTroubleError,
  QueueUnavailableError,
} from "../../src/lanes/queues.ts";
import { freshDatabase } from "../postgres.ts";
import { redisServerPath, startRedis } from "./redis-server.ts";
import { until } from "./until.ts";

type Wake = { readonly row: string };

/** Queues on either backend, with the errors they reported. */
type Opened = AsyncDisposable & {
  readonly errors: readonly Error[];
  /** The same queues as another process would open them. */
  open(): Queues;
};

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
      const seen = { one: [] as string[], two: [] as string[] };
      for (const [queues, list] of [
        [one, seen.one],
        [two, seen.two],
      ] as const) {
        const worker = queues.worker<Wake>("lanes", {
          concurrency: 2,
          run: async ({ row }) => void list.push(row),
        });
        await worker.ready();
      }
      const rows = Array.from({ length: 50 }, (_, index) => `row-${index}`);
      await adding.queue<Wake>("lanes").add(rows.map((row) => ({ id: row, data: { row } })));
      const all = await until(
        "fifty jobs",
        () => [...seen.one, ...seen.two],
        (list) => list.length >= 50,
      );
      expect(all.toSorted()).toEqual(rows.toSorted());
    });

    test("takes an id once while its job waits, and again after it is done or has failed", async () => {
      await using backend = await start();
      const queues = backend.open();
      const queue = queues.queue<Wake>("lanes");
      const wake = { id: "lane-7-0", data: { row: "7" } };
      await queue.add([wake]);
      await queue.add([wake]);
      expect(await queue.counts()).toMatchObject({ waiting: 1, active: 0 });

      let runs = 0;
      queues.worker<Wake>("lanes", {
        concurrency: 1,
        run: async () => {
          runs += 1;
          if (runs === 1) throw new Error("the first run fails");
        },
      });
      await until(
        "the first run",
        () => backend.errors.map(String),
        (list) => list.length > 0,
      );
      await until(
        "an empty queue",
        () => queue.counts(),
        ({ waiting, active }) => waiting + active === 0,
      );
      expect(backend.errors.map(String)).toEqual(["Error: the first run fails"]);
      await queue.add([wake]);
      await until(
        "the second run",
        () => runs,
        (count) => count === 2,
      );
      expect(await queue.counts()).toMatchObject({ failed: 0, delayed: 0 });
    });

    test("keeps a delayed wake-up until its time", async () => {
      await using backend = await start();
      const queues = backend.open();
      const queue = queues.queue<Wake>("lanes");
      const ranAt: number[] = [];
      const worker = queues.worker<Wake>("lanes", {
        concurrency: 1,
        run: async () => void ranAt.push(performance.now()),
      });
      await worker.ready();
      const addedAt = performance.now();
      await queue.add([{ id: "later", data: { row: "1" }, delayMs: 400 }]);
      const [at = 0] = await until(
        "the delayed job",
        () => ranAt,
        (list) => list.length === 1,
      );
      expect(at - addedAt).toBeGreaterThanOrEqual(390);
    });

    test("closing a worker tells running jobs to stop and waits for them", async () => {
      await using backend = await start();
      const queues = backend.open();
      const said: string[] = [];
      const worker = queues.worker<Wake>("lanes", {
        concurrency: 1,
        run: async (_wake, signal) => {
          said.push("started");
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          said.push("stopped");
        },
      });
      await queues.queue<Wake>("lanes").add([{ id: "long", data: { row: "1" } }]);
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

test("a queue whose Postgres cannot be reached says so, with the remedy to retry", async () => {
  const errors: Error[] = [];
  await using queues = openQueues({
    databaseUrl: "postgres://nobody@127.0.0.1:1/nowhere",
    onError: (error) => errors.push(error),
  });
  const failure = await queues
    .queue<Wake>("lanes")
    .add([{ id: "lane", data: { row: "1" } }])
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(QueueUnavailableError);
  expect(failure).toMatchObject({ remedy: "retry" });
  expect(String(failure)).toContain("queue lanes on postgres");
});

test("a connection the database cuts is reported without its settings, and work goes on", async () => {
  await using database = await freshDatabase();
  const errors: Error[] = [];
  await using queues = openQueues({
    databaseUrl: database.url,
    onError: (error) => errors.push(error),
  });
  const rows: string[] = [];
  const worker = queues.worker<Wake>("lanes", {
    concurrency: 1,
    run: async ({ row }) => void rows.push(row),
  });
  await worker.ready();
  const queue = queues.queue<Wake>("lanes");
  await queue.add([{ id: "before", data: { row: "before" } }]);
  await until(
    "the first job",
    () => rows,
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
      queue.add([{ id: "after", data: { row: "after" } }]).then(
        () => true,
        () => false,
      ),
    (taken) => taken,
  );
  await until(
    "the second job",
    () => rows,
    (list) => list.includes("after"),
  );
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) {
    expect(error).toBeInstanceOf(QueueTroubleError);
    expect(Object.keys(error).toSorted()).toEqual(["name", "remedy"]);
  }
});

test.skipIf(redisPath === undefined)("closing does not wait for a Redis that is gone", async () => {
  const server = await startRedis(redisPath ?? "");
  const queues = openQueues({
    databaseUrl: "postgres://nobody@127.0.0.1:1/nowhere",
    redisUrl: server.url,
    onError: () => undefined,
  });
  const worker = queues.worker<Wake>("lanes", { concurrency: 1, run: async () => undefined });
  await worker.ready();
  await queues.queue<Wake>("lanes").counts();
  await server.stop();
  const started = performance.now();
  await queues.close();
  expect(performance.now() - started).toBeLessThan(8_000);
});
