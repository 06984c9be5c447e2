/**
 * Queues of wake-ups between processes: BullMQ on Postgres, or on Redis when one is configured.
 *
 * A wake-up carries no work, only the number of a lane's row: the row decides what is done. So one that
 * comes twice, late or after its row is finished does no harm, and one that is lost is added again for
 * the row. A wake-up says nothing about a person.
 */
import type { IQueueBackend } from "bullmq";
import {
  type BackendClasses,
  type BackendFactory,
  createRedisBackend,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  runMigrations,
  withBackend,
} from "bullmq";
import { schemaMade } from "../database/work-schemas.ts";
import { type Backoff, backoffMs } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Schema of BullMQ's own tables; beside ours, never among them. */
const POSTGRES_SCHEMA = "holderbook_queue";

/** Before the name of every key in Redis. */
const REDIS_PREFIX = "holderbook";

/** How long adding may take before the queue counts as unreachable. */
const ANSWER_DEADLINE: Deadline = { ms: 10_000 };

/** How long taking leave of the backend may take; one that is down never answers. */
const LEAVE_DEADLINE: Deadline = { ms: 2_000 };
const CUT_DEADLINE: Deadline = { ms: 500 };

/** What a job carries. */
type LaneData = { readonly lane: string };

/**
 * How long a worker takes no jobs after trouble. BullMQ pauses by itself only where a connection was
 * refused: a server that takes it and says no, such as one without the database, would be asked ten
 * times a second.
 */
const REST_MS = 2_000;

/** Of BullMQ's own it is twenty seconds in the end. */
const RECONNECT: Backoff = { firstMs: 250, maxMs: 5_000 };

/**
 * Without an answer for so long a connection is silent, not slow: BullMQ's own statements are short, and it
 * waits for jobs ten seconds at a time.
 */
const SILENT_MS = 30_000;

/** Idle this long, the kernel asks whether the other side is still there, milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** Connections for everything but the one that waits for jobs. */
const POSTGRES_POOL = 3;

/** Wakes a worker for a lane. */
export type Wake = {
  /** While a wake-up of this id waits or runs, adding it again does nothing. Letters, digits and `-`. */
  readonly id: string;
  /** Number of its row. */
  readonly lane: bigint;
};

/** The side of a queue that wakes. */
export type WakeQueue = {
  /** @throws QueueUnavailableError (retry) when the queue does not take them in time */
  add(wakes: readonly Wake[]): Promise<void>;
};

/** The side of a queue that works. */
export type WakeWorker = AsyncDisposable & {
  /**
   * Resolves once the queue is reached and wake-ups are taken.
   * @throws QueueUnavailableError when Postgres does not let it in: close it. Redis is waited for
   */
  ready(): Promise<void>;
  /** Takes no more jobs, aborts the `signal` of those that run, and resolves when they have returned. */
  close(): Promise<void>;
};

export type WorkerSettings = {
  /** Wake-ups at a time in this process. */
  readonly concurrency: number;
  /**
   * Does what the lane's row asks for. `signal` aborts when the worker closes: come to a safe stop.
   * It must not throw: `startLanes` reports its own errors. One that throws anyway goes to `onError`.
   */
  readonly run: (lane: bigint, signal: AbortSignal) => Promise<void>;
};

/** The queues of this process. */
export type Queues = AsyncDisposable & {
  readonly backend: "postgres" | "redis";
  /** Resolves when the backend answers; while it does not, it may wait for long. Without queues, at once. */
  look(): Promise<void>;
  queue(name: string): WakeQueue;
  worker(name: string, settings: WorkerSettings): WakeWorker;
  /** Closes workers, then queues. Safe to call twice. */
  close(): Promise<void>;
};

/** The queue's Postgres or Redis does not answer: retry later. Rows are safe meanwhile. */
export class QueueUnavailableError extends Error {
  override readonly name = "QueueUnavailableError";
  readonly remedy: Remedy = "retry";

  constructor(queue: string, backend: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`queue ${queue} on ${backend} is not available: ${why}`);
  }
}

/**
 * Something went wrong in the background, such as a lost connection; BullMQ goes on by itself.
 *
 * The driver's error is not kept as a cause: node-postgres hangs its whole client on it, settings and
 * all, and a log line of the error would show them.
 */
export class QueueTroubleError extends Error {
  override readonly name = "QueueTroubleError";
  readonly remedy: Remedy = "retry";

  constructor(queue: string, backend: string, error: Error) {
    const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
    super(`queue ${queue} on ${backend}: ${error.message}${code}`);
  }
}

/**
 * Prepares queues; the first use connects and, on Postgres, brings BullMQ's schema up to date.
 *
 * `onError` hears what goes wrong in the background: a QueueTroubleError, or why a job failed.
 */
export const openQueues = (settings: {
  readonly databaseUrl: string;
  /** Absent: the queue lives in Postgres. */
  readonly redisUrl?: string | undefined;
  /** Schema of BullMQ's tables, when several deployments share a database. */
  readonly schema?: string;
  readonly onError: (error: Error) => void;
}): Queues => {
  const { databaseUrl, redisUrl, onError } = settings;
  if (redisUrl !== undefined) {
    return queuesOver("redis", withBackend(createRedisBackend), onError, () => ({
      url: redisUrl,
      // BullMQ's own rule for workers; adding is bounded by our deadline.
      maxRetriesPerRequest: null,
      retryStrategy: (failures: number) => backoffMs(failures, RECONNECT),
      keepAlive: KEEP_ALIVE_MS,
      socketTimeout: SILENT_MS,
    }));
  }
  const schema = settings.schema ?? POSTGRES_SCHEMA;
  return queuesOver("postgres", withBackend(postgresBackend), onError, () => ({
    connectionString: databaseUrl,
    schema,
    max: POSTGRES_POOL,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    query_timeout: SILENT_MS,
    application_name: "holderbook-queue",
    // A crash of the server may forget the newest wake-ups; their rows bring them back. No compiling of
    // statements: see `connectionOptions`.
    options: "-c synchronous_commit=off -c jit=off",
  }));
};

/** Brings BullMQ's tables up to date as it connects, as a role that may make tables in their schema and no schema. */
class MigratingConnection extends PostgresConnection {
  #ready: Promise<void> | undefined;

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#migrate().then(() => super.waitUntilReady());
    return this.#ready;
  }

  async #migrate(): Promise<void> {
    const client = await this.pool.connect();
    try {
      const query: typeof client.query = (text, values) =>
        text.startsWith("CREATE SCHEMA")
          ? client.query(schemaMade(this.schema))
          : client.query(text, values);
      await runMigrations({ query }, this.schema);
    } finally {
      client.release();
    }
  }
}

/** As BullMQ's own, over such a connection. */
const postgresBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (
  name,
  options,
  made = {},
) => {
  const worker = made.withBlockingConnection ? name : undefined;
  const connection = new MigratingConnection(options.connection);
  return new PostgresQueueBackend(connection, name, options, true, worker);
};

/** Waits for a close, but not for a backend that is down: then its connections are cut. */
const leave = async (
  inner: { disconnect(): Promise<void> },
  left: Promise<unknown>,
): Promise<void> => {
  await withinDeadline(left, LEAVE_DEADLINE).catch(() =>
    withinDeadline(inner.disconnect(), CUT_DEADLINE).catch(() => undefined),
  );
};

const queuesOver = <Backend extends IQueueBackend, Connection>(
  backend: "postgres" | "redis",
  bullmq: BackendClasses<Backend, Connection>,
  onError: (error: Error) => void,
  connection: () => Connection,
): Queues => {
  const workers: WakeWorker[] = [];
  /** One of the queues is asked: all are in one place. */
  let ask: (() => Promise<unknown>) | undefined;
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const trouble = (name: string) => (error: Error) => {
    // Connections that end while closing are no news.
    if (closing === undefined) onError(new QueueTroubleError(name, backend, error));
  };

  const open = (name: string) => {
    const inner = new bullmq.Queue<LaneData, void, "wake">(name, {
      connection: connection(),
      prefix: REDIS_PREFIX,
      // Nothing reads the queue's events; the default keeps ten thousand.
      streams: { events: { maxLen: 100 } },
      // The row remembers; a finished or failed job would only keep its id taken.
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    inner.on("error", trouble(name));
    return inner;
  };

  const queue = (name: string): WakeQueue => {
    let inner = open(name);
    ask = () => inner.count();
    closers.push(() => leave(inner, inner.close()));
    const add = async (jobs: Parameters<typeof inner.addBulk>[0]) => {
      const used = inner;
      try {
        await used.waitUntilReady();
      } catch (error) {
        // One whose first connection failed repeats that for ever: another takes its place.
        if (inner === used && closing === undefined) {
          inner = open(name);
          await leave(used, used.close());
        }
        throw error;
      }
      await used.addBulk(jobs);
    };
    return {
      add: async (wakes) => {
        if (wakes.length === 0) return;
        const jobs = wakes.map(({ id, lane }) => ({
          name: "wake" as const,
          data: { lane: `${lane}` },
          opts: { jobId: id },
        }));
        await withinDeadline(add(jobs), ANSWER_DEADLINE).catch((cause: unknown) => {
          throw new QueueUnavailableError(name, backend, cause);
        });
      },
    };
  };

  const worker = (name: string, { concurrency, run }: WorkerSettings): WakeWorker => {
    const closed = new AbortController();
    const runs = new Set<Promise<void>>();
    const inner = new bullmq.Worker<LaneData, void, "wake">(
      name,
      (job) => {
        const running = run(BigInt(job.data.lane), closed.signal);
        runs.add(running);
        return running.finally(() => runs.delete(running));
      },
      {
        connection: connection(),
        prefix: REDIS_PREFIX,
        concurrency,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    );
    let rest: NodeJS.Timeout | undefined;
    inner.on("error", (error) => {
      trouble(name)(error);
      if (rest !== undefined || closed.signal.aborted) return;
      void inner.pause(true);
      rest = setTimeout(() => {
        rest = undefined;
        if (!closed.signal.aborted) void inner.resume();
      }, REST_MS);
    });
    // BullMQ gave the job up: it stalled, or its run threw. The lane's row brings the work back.
    inner.on("failed", (_job, error) => onError(error));
    let ended: Promise<void> | undefined;
    const close = () => {
      closed.abort();
      clearTimeout(rest);
      ended ??= (async () => {
        const left = inner.close();
        await Promise.allSettled([...runs]);
        await leave(inner, left);
      })();
      return ended;
    };
    const made: WakeWorker = {
      ready: async () => {
        await inner.waitUntilReady().catch((cause: unknown) => {
          throw new QueueUnavailableError(name, backend, cause);
        });
      },
      close,
      [Symbol.asyncDispose]: close,
    };
    workers.push(made);
    return made;
  };

  const close = () => {
    closing ??= (async () => {
      await Promise.all(workers.map((each) => each.close()));
      await Promise.all(closers.map((each) => each()));
    })();
    return closing;
  };
  const look = async () => void (await ask?.());
  return { backend, look, queue, worker, close, [Symbol.asyncDispose]: close };
};
