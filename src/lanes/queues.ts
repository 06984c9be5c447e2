/**
 * Queues of wake-ups between processes: BullMQ on Postgres, or on Redis when one is configured.
 *
 * A job here never carries the work, only the key of a row to look at: the row decides what is done,
 * so a job that comes twice, late or after its row is finished does no harm, and one that is lost is
 * added again by whoever watches the rows. Nothing about a person may stand in a job.
 */

import type { IQueueBackend } from "bullmq";
import {
  type BackendClasses,
  createPostgresBackend,
  createRedisBackend,
  withBackend,
} from "bullmq";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Schema of BullMQ's own tables; beside ours, never among them. */
const POSTGRES_SCHEMA = "holderbook_queue";

/** Before the name of every key in Redis. */
const REDIS_PREFIX = "holderbook";

/** How long adding or counting may take before the queue counts as unreachable. */
const ANSWER_DEADLINE: Deadline = { ms: 10_000 };

/** How long taking leave of the backend may take; one that is down never answers. */
const LEAVE_DEADLINE: Deadline = { ms: 2_000 };
const CUT_DEADLINE: Deadline = { ms: 500 };

/** Connections for everything but the one that waits for jobs. */
const POSTGRES_POOL = 3;

/** A wake-up. */
export type Job<Data> = {
  /**
   * While a job of this id waits or runs, adding it again does nothing. Letters, digits, `-` and `_`;
   * not a number alone.
   */
  readonly id: string;
  /** JSON; keys of rows only. */
  readonly data: Data;
  /** Not before this many milliseconds from now; at once when absent. */
  readonly delayMs?: number;
};

/** How many jobs are in which state, over all processes. */
export type JobCounts = {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
};

/** The side of a queue that adds. */
export type JobQueue<Data> = {
  /** @throws QueueUnavailableError (retry) when the queue does not take them in time */
  add(jobs: readonly Job<Data>[]): Promise<void>;
  /** @throws QueueUnavailableError (retry) */
  counts(): Promise<JobCounts>;
};

/** The side of a queue that works. */
export type JobWorker = AsyncDisposable & {
  /** Resolves once the queue is reached and jobs are taken. */
  ready(): Promise<void>;
  /** Takes no more jobs, aborts the `signal` of those that run, and resolves when they have returned. */
  close(): Promise<void>;
};

export type WorkerSettings<Data> = {
  /** Jobs at a time in this process. */
  readonly concurrency: number;
  /**
   * Does what the job's row asks for. `signal` aborts when the worker closes: come to a safe stop.
   * A job whose run throws is reported through `onError` and gone: the row brings it back.
   */
  readonly run: (data: Data, signal: AbortSignal) => Promise<void>;
};

/** The queues of this process. */
export type Queues = AsyncDisposable & {
  readonly backend: "postgres" | "redis";
  queue<Data>(name: string): JobQueue<Data>;
  worker<Data>(name: string, settings: WorkerSettings<Data>): JobWorker;
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
 * all, and whoever logs an error logs that too.
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
 * `onError` hears what goes wrong in the background: a QueueTroubleError, or the error a job's run
 * threw.
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
    }));
  }
  const schema = settings.schema ?? POSTGRES_SCHEMA;
  return queuesOver("postgres", withBackend(createPostgresBackend), onError, () => ({
    connectionString: databaseUrl,
    schema,
    migrate: true,
    max: POSTGRES_POOL,
    connectionTimeoutMillis: 5_000,
    application_name: "holderbook-queue",
    // A crash of the server may forget the newest wake-ups; their rows bring them back.
    options: "-c synchronous_commit=off",
  }));
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
  backend: Queues["backend"],
  bullmq: BackendClasses<Backend, Connection>,
  onError: (error: Error) => void,
  connection: () => Connection,
): Queues => {
  const workers: JobWorker[] = [];
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const trouble = (name: string) => (error: Error) => {
    // Connections that end while closing are no news.
    if (closing === undefined) onError(new QueueTroubleError(name, backend, error));
  };

  const queue = <Data>(name: string): JobQueue<Data> => {
    const inner = new bullmq.Queue<Data, void, "wake">(name, {
      connection: connection(),
      prefix: REDIS_PREFIX,
      // Events of the queue are not read by anybody; the default keeps ten thousand.
      streams: { events: { maxLen: 100 } },
      // The row remembers; a finished or failed job would only keep its id taken.
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    inner.on("error", trouble(name));
    closers.push(() => leave(inner, inner.close()));
    const answered = <T>(answer: Promise<T>) =>
      withinDeadline(answer, ANSWER_DEADLINE).catch((cause: unknown) => {
        throw new QueueUnavailableError(name, backend, cause);
      });
    return {
      add: async (jobs) => {
        if (jobs.length === 0) return;
        const bulk = jobs.map(({ id, data, delayMs }) => ({
          name: "wake" as const,
          data,
          opts: { jobId: id, ...(delayMs !== undefined && { delay: delayMs }) },
        }));
        // BullMQ derives its own view of `Data` that TypeScript cannot see through for a type parameter.
        await answered(inner.addBulk(bulk as Parameters<typeof inner.addBulk>[0]));
      },
      counts: async () => {
        const counts = await answered(
          inner.getJobCounts("waiting", "prioritized", "active", "delayed", "failed"),
        );
        const count = (state: string) => counts[state] ?? 0;
        return {
          waiting: count("waiting") + count("prioritized"),
          active: count("active"),
          delayed: count("delayed"),
          failed: count("failed"),
        };
      },
    };
  };

  const worker = <Data>(name: string, { concurrency, run }: WorkerSettings<Data>): JobWorker => {
    const closed = new AbortController();
    const runs = new Set<Promise<void>>();
    const inner = new bullmq.Worker<Data, void, "wake">(
      name,
      (job) => {
        const running = run(job.data, closed.signal);
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
    inner.on("error", trouble(name));
    inner.on("failed", (_job, error) => onError(error));
    let ended: Promise<void> | undefined;
    const close = () => {
      closed.abort();
      ended ??= (async () => {
        const left = inner.close();
        await Promise.allSettled([...runs]);
        await leave(inner, left);
      })();
      return ended;
    };
    const made: JobWorker = {
      ready: () => inner.waitUntilReady(),
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
  return { backend, queue, worker, close, [Symbol.asyncDispose]: close };
};
