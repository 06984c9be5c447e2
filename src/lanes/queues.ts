/**
 * Queues of wake-ups between processes: BullMQ on Postgres, or on Redis when configured.
 *
 * A wake-up carries only a lane's number; the lane's row decides the work. So a duplicate or late
 * wake-up does no harm, a lost one is added again for the row, and none holds personal data.
 */
import { Socket } from "node:net";
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
import { type Primary, primaryOf } from "../database/primary.ts";
import { CONNECT_TIMEOUT_SECONDS } from "../database/socket.ts";
import { schemaMade } from "../database/work-schemas.ts";
import { type Backoff, backoffMs } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Schema of BullMQ's tables, apart from ours. */
const POSTGRES_SCHEMA = "holderbook_queue";

const REDIS_PREFIX = "holderbook";

const ANSWER_DEADLINE: Deadline = { ms: 10_000 };

/** Limits on closing: a backend that is down never answers. */
const LEAVE_DEADLINE: Deadline = { ms: 2_000 };
const CUT_DEADLINE: Deadline = { ms: 500 };

type LaneData = { readonly lane: string };

/**
 * Pause of a worker after an error. BullMQ pauses only after a refused connection: it would ask ten times
 * a second where a server accepts the connection and then fails.
 */
const REST_MS = 2_000;

/** BullMQ's own backoff grows to twenty seconds. */
const RECONNECT: Backoff = { firstMs: 250, maxMs: 5_000 };

/** A connection to Postgres silent for longer is dead: BullMQ waits for jobs ten seconds at a time. */
const SILENT_MS = 30_000;

/**
 * The same for Redis: BullMQ bounds its waiting for jobs itself, at six seconds. A wake-up meets two such
 * connections one after the other: that which adds it, then that which takes it.
 */
const REDIS_SILENT_MS = 10_000;

/** Idle time before TCP keep-alive, milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** Connections besides the one that waits for jobs. */
const POSTGRES_POOL = 3;

export type Wake = {
  /** Adding is a no-op while a wake-up of this id waits or runs. Letters, digits and `-`. */
  readonly id: string;
  /** Number of the lane's row. */
  readonly lane: bigint;
};

type WorkerSettings = {
  /** Concurrent wake-ups in this process. */
  readonly concurrency: number;
  /**
   * Does the work of the lane's row. `signal` aborts when the worker closes: come to a safe stop.
   * Must not throw (`startLanes` reports its own errors); if it does, `onError` gets the error.
   */
  readonly run: (lane: bigint, signal: AbortSignal) => Promise<void>;
  /** Another worker may take a wake-up this long after its process died, ms; BullMQ's 30 s by default. */
  readonly lostAfterMs?: number;
};

export type Queues = ReturnType<typeof openQueues>;

/** The queue's Postgres or Redis does not answer: retry later. The lanes' rows are safe. */
export class QueueUnavailableError extends Error {
  override readonly name = "QueueUnavailableError";
  readonly remedy: Remedy = "retry";

  constructor(queue: string, backend: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`queue ${queue} on ${backend} is not available: ${why}`);
  }
}

/**
 * A background error, such as a lost connection; BullMQ recovers by itself.
 *
 * The driver's error is not kept as a cause: node-postgres attaches its client with all settings,
 * and a log line would show them.
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
 * Prepares queues; the first use connects and, on Postgres, migrates BullMQ's schema.
 *
 * `onError` receives background errors: a QueueTroubleError, or why a job failed.
 */
export const openQueues = (settings: {
  readonly databaseUrl: string;
  /** Absent: the queue lives in Postgres. */
  readonly redisUrl?: string | undefined;
  /** Schema of BullMQ's tables, when several deployments share a database. */
  readonly schema?: string;
  readonly onError: (error: Error) => void;
}) => {
  const { databaseUrl, redisUrl, onError } = settings;
  if (redisUrl !== undefined) {
    return queuesOver("redis", withBackend(createRedisBackend), onError, () => ({
      url: redisUrl,
      // BullMQ's own rule for workers; adding is bounded by our deadline.
      maxRetriesPerRequest: null,
      retryStrategy: (failures: number) => backoffMs(failures, RECONNECT),
      keepAlive: KEEP_ALIVE_MS,
      socketTimeout: REDIS_SILENT_MS,
    }));
  }
  const schema = settings.schema ?? POSTGRES_SCHEMA;
  const primary = primaryOf(databaseUrl);
  return queuesOver("postgres", withBackend(postgresBackend(primary)), onError, () => ({
    connectionString: primary?.url ?? databaseUrl,
    schema,
    max: POSTGRES_POOL,
    connectionTimeoutMillis: CONNECT_TIMEOUT_SECONDS * 1_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    query_timeout: SILENT_MS,
    application_name: "holderbook-queue",
    // A server crash may lose the newest wake-ups; their rows bring them back. No JIT: see
    // `connectionOptions`.
    options: "-c synchronous_commit=off -c jit=off",
  }));
};

/**
 * Migrates BullMQ's tables on connecting, as a role that may create tables but no schema. Of several hosts, each new
 * connection goes to the one that takes writes.
 */
class MigratingConnection extends PostgresConnection {
  #ready: Promise<void> | undefined;
  readonly #primary: Primary | undefined;

  constructor(options: PostgresConnectionOptions, primary: Primary | undefined) {
    super(options);
    this.#primary = primary;
    if (primary === undefined) return;
    // BullMQ and its driver know one host. They read both for each new connection.
    for (const read of [
      Reflect.get(this.pool, "options"),
      Reflect.get(this, "listenClientConfig"),
    ]) {
      Object.defineProperties(read, {
        connectionString: { enumerable: true, get: () => primary.url },
        stream: { enumerable: true, value: () => heldSocket(primary) },
      });
    }
  }

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#migrate().then(() => super.waitUntilReady());
    return this.#ready;
  }

  async #migrate(): Promise<void> {
    await this.#primary?.find();
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

const heldSocket = (primary: Primary): Socket => {
  const socket = new Socket();
  primary.hold(socket);
  return socket;
};

/** BullMQ's backend over a `MigratingConnection`. */
const postgresBackend =
  (primary: Primary | undefined): BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> =>
  (name, options, made = {}) => {
    const worker = made.withBlockingConnection ? name : undefined;
    const connection = new MigratingConnection(options.connection, primary);
    return new PostgresQueueBackend(connection, name, options, true, worker);
  };

/** Waits for a close; cuts the connections of a backend that is down. */
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
) => {
  const workers: { close(): Promise<void> }[] = [];
  /** Counts any one queue: all share a backend. */
  let count: (() => Promise<unknown>) | undefined;
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const trouble = (name: string) => (error: Error) => {
    // Connections may end while closing.
    if (closing === undefined) onError(new QueueTroubleError(name, backend, error));
  };

  const open = (name: string) => {
    const inner = new bullmq.Queue<LaneData, void, "wake">(name, {
      connection: connection(),
      prefix: REDIS_PREFIX,
      // Nothing reads the queue's events; the default keeps ten thousand.
      streams: { events: { maxLen: 100 } },
      // The row holds the state; a kept job would only block its id.
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    inner.on("error", trouble(name));
    return inner;
  };

  const queue = (name: string) => {
    let inner = open(name);
    count = () => inner.count();
    closers.push(() => leave(inner, inner.close()));
    const add = async (jobs: Parameters<typeof inner.addBulk>[0]) => {
      const used = inner;
      try {
        await used.waitUntilReady();
      } catch (error) {
        // BullMQ repeats a failed first connection's error for ever: replace the queue.
        if (inner === used && closing === undefined) {
          inner = open(name);
          await leave(used, used.close());
        }
        throw error;
      }
      await used.addBulk(jobs);
    };
    return {
      /** @throws QueueUnavailableError (retry) on timeout */
      add: async (wakes: readonly Wake[]): Promise<void> => {
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

  const worker = (name: string, { concurrency, run, lostAfterMs }: WorkerSettings) => {
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
        // After a refused connection; 15 s by default.
        runRetryDelay: REST_MS,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
        ...(lostAfterMs !== undefined && {
          lockDuration: lostAfterMs,
          stalledInterval: lostAfterMs / 2,
        }),
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
    // BullMQ gave up the job: it stalled, or its run threw. The lane's row brings the work back.
    inner.on("failed", (_job, error) => onError(error));
    let ended: Promise<void> | undefined;
    /** Takes no more jobs, aborts the `signal` of running ones, and resolves when they return. */
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
    const made = {
      /**
       * Resolves once the worker takes wake-ups; waits for Redis.
       * @throws QueueUnavailableError when Postgres refuses the connection: close the worker
       */
      ready: async (): Promise<void> => {
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

  /** Closes workers, then queues. Safe to call twice. */
  const close = () => {
    closing ??= (async () => {
      await Promise.all(workers.map((each) => each.close()));
      await Promise.all(closers.map((each) => each()));
    })();
    return closing;
  };
  /** Resolves when the backend answers, which may take long; immediately without queues. */
  const ping = async () => void (await count?.());
  return { backend, ping, queue, worker, close, [Symbol.asyncDispose]: close };
};
