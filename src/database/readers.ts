/**
 * Connections for the statements of callers, of two kinds.
 *
 * Short statements travel together: several behind one another on few connections, as the pool of
 * postgres.js sends them. One write carries them all, which is most of what a short one costs. They are
 * never cancelled: they have ended before anybody could.
 *
 * A long one has a connection to itself. When its caller has hung up it is dropped while it waits, and
 * cancelled when it has run for a while. Cancelling addresses a connection, not a statement: so there is
 * one at a time on it, and the next one comes only when the cancellation has been delivered.
 */
import postgres from "postgres";
import { type ConnectionSettings, connectionOptions } from "./session.ts";

/** What travels as a parameter; the cast in the statement says as what. */
export type Parameter = string | number | boolean | bigint | Uint8Array | null;

/**
 * Whatever runs a prepared statement: a `Db`, a transaction, or the readers. Texts are constants: each
 * is prepared once per connection.
 */
export type Reads = {
  readonly sql: {
    unsafe<Rows extends object[]>(
      text: string,
      parameters: Parameter[],
      options: { readonly prepare: true },
    ): PromiseLike<Rows>;
  };
};

export type Readers = AsyncDisposable & {
  /**
   * The readers, for the statements of one request.
   * @param signal aborts when nobody waits for the answer any more; statements then reject with its
   *   reason
   * @param weight of the request, see `Admission`: tells whether its statements are short; long unless
   *   given
   */
  for(signal: AbortSignal | undefined, weight?: number): Reads;
  /** Statements waiting for a connection of their own. */
  readonly waiting: number;
  /** Waits up to 5 s for what runs, then ends all connections. */
  close(): Promise<void>;
};

/** Runs one statement; its rows have the columns of the text. */
export const read = async <Row extends object>(
  { sql }: Reads,
  text: string,
  parameters: Parameter[],
): Promise<Row[]> => await sql.unsafe<Row[]>(text, parameters, { prepare: true });

/** A statement that ends by itself within this is not cancelled. */
const CANCEL_AFTER_MS = 250;

/**
 * The statements read pages by an index and a bound. Whatever Postgres believes of a table (it may have
 * been empty when a plan was made), it must neither gather nor sort it; with that said, a plan for any
 * parameters is the right one, and planning each time would cost more than the page.
 */
const PAGES_BY_INDEX = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_sort: "off",
  jit: "off",
} as const;

type Client = postgres.Sql<{ bigint: bigint }>;

type Waiting = {
  readonly resolve: (client: Client) => void;
  readonly reject: (reason: unknown) => void;
};

/** Up to this weight a request reads few rows by an index, say two pages of a hundred. */
const SHORT_WEIGHT = 5_000;

/** Of all connections, for short statements: the fewer, the more of them travel together. */
const SHARE_OF_SHORT = 0.3;

/**
 * Prepares `max` connections, two at the least; each is made when it is first needed, and again when it
 * was lost.
 */
export const createReaders = (settings: ConnectionSettings & { readonly max: number }): Readers => {
  const { connection, ...options } = connectionOptions(settings);
  const forShort = Math.max(1, Math.floor(settings.max * SHARE_OF_SHORT));
  const together: Client = postgres(settings.url, {
    ...options,
    max: forShort,
    connection: { ...connection, ...PAGES_BY_INDEX },
  });
  /** Number of the server process behind a connection, as its last answer told. */
  const processes = new WeakMap<Client, number>();
  const clients = Array.from({ length: Math.max(1, settings.max - forShort) }, () => {
    // In a variable: the driver's type declaration leaves `onclose` out.
    const own = {
      ...options,
      max: 1,
      // It would be made anew while a caller waits, and under another number.
      max_lifetime: null,
      onclose: () => processes.delete(client),
      connection: { ...connection, ...PAGES_BY_INDEX },
    };
    const client: Client = postgres(settings.url, own);
    return client;
  });
  /** The one used last is taken first: a quiet service keeps few connections busy. */
  const idle: Client[] = [...clients];
  /** Its statements are never waited for by a caller, nor cancelled. */
  const canceller = postgres(settings.url, { ...options, max: 1, connection });
  const queue = new Set<Waiting>();

  const giveBack = (client: Client) => {
    const [next] = queue;
    if (next === undefined) {
      idle.push(client);
      return;
    }
    queue.delete(next);
    next.resolve(client);
  };

  const take = (signal: AbortSignal | undefined): Client | Promise<Client> => {
    signal?.throwIfAborted();
    const client = idle.pop();
    if (client !== undefined) return client;
    const { promise, resolve, reject } = Promise.withResolvers<Client>();
    const leave = () => {
      queue.delete(entry);
      reject(signal?.reason);
    };
    const entry: Waiting = {
      resolve: (free) => {
        signal?.removeEventListener("abort", leave);
        resolve(free);
      },
      reject,
    };
    queue.add(entry);
    signal?.addEventListener("abort", leave, { once: true });
    return promise;
  };

  const runAlone = async <Rows extends object[]>(
    signal: AbortSignal | undefined,
    text: string,
    parameters: Parameter[],
  ): Promise<Rows> => {
    const client = await take(signal);
    if (signal?.aborted) {
      giveBack(client);
      throw signal.reason;
    }
    const query = client.unsafe<Rows>(text, parameters, { prepare: true });
    let cancelled: Promise<unknown> | undefined;
    const settled =
      signal &&
      whenLasting(signal, () => {
        // Unknown on a new connection: then the statement's own timeout ends it.
        const process = processes.get(client);
        if (process === undefined) return;
        // One that cannot be sent leaves the statement to its timeout.
        cancelled = canceller`select pg_cancel_backend(${process})`.catch(() => undefined);
      });
    try {
      const rows = await query;
      processes.set(client, rows.state.pid);
      // Making an answer of them would be most of the work.
      signal?.throwIfAborted();
      return rows;
    } finally {
      settled?.();
      // Its own answer does not wait for that; the connection does.
      if (cancelled === undefined) giveBack(client);
      else void cancelled.then(() => giveBack(client));
    }
  };

  const runTogether = async <Rows extends object[]>(
    signal: AbortSignal | undefined,
    text: string,
    parameters: Parameter[],
  ): Promise<Rows> => {
    signal?.throwIfAborted();
    const rows = await together.unsafe<Rows>(text, parameters, { prepare: true });
    // Making an answer of them would be most of the work.
    signal?.throwIfAborted();
    return rows;
  };

  const close = async () => {
    for (const { reject } of queue) reject(new Error("the service is stopping"));
    queue.clear();
    await Promise.all(
      [...clients, together, canceller].map((client) => client.end({ timeout: 5 })),
    );
  };
  return {
    for: (signal, weight = Number.POSITIVE_INFINITY) => {
      const run = weight <= SHORT_WEIGHT ? runTogether : runAlone;
      return { sql: { unsafe: (text, parameters) => run(signal, text, parameters) } };
    },
    get waiting() {
      return queue.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

/** Calls `then` once the caller is gone and the statement has lasted; returns what calls that off. */
const whenLasting = (signal: AbortSignal, then: () => void): (() => void) => {
  const begunMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const gone = () => {
    timer = setTimeout(then, Math.max(0, begunMs + CANCEL_AFTER_MS - performance.now()));
  };
  signal.addEventListener("abort", gone, { once: true });
  return () => {
    signal.removeEventListener("abort", gone);
    clearTimeout(timer);
  };
};
