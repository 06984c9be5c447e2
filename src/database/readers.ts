/**
 * Connections for the statements of callers, of two kinds.
 *
 * Short statements travel together: several behind one another on few connections. One write carries
 * them all, which is most of what a short one costs. None is cancelled; one that lasts was no short one:
 * the server ends it after a moment, and it begins anew as a long one.
 *
 * A long one has a connection to itself, so that a caller who hangs up can have it cancelled: cancelling
 * addresses a connection, not a statement, and the next one comes only when it has been delivered.
 *
 * Requests that need several statements run them in one snapshot, on a connection of their own meanwhile:
 * light ones on some that are kept for them, heavy ones where long statements run.
 *
 * What waits for a connection is dropped when its caller hangs up.
 */
import postgres from "postgres";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { type ConnectionSettings, connectionOptions, LOST_AFTER_MS } from "./connection.ts";
import { DatabaseUnavailableError } from "./database-error.ts";
import type { PoolLoad } from "./pool-load.ts";
import { createSeats, type Seat, type Seats } from "./seats.ts";
import {
  type Answered,
  type Ask,
  type Client,
  createSnapshot,
  type SnapshotSeats,
} from "./snapshot.ts";
import { whenLasting } from "./when-lasting.ts";

/** What travels as a parameter; the cast in the statement says as what. */
export type Parameter = string | number | boolean | bigint | Uint8Array | null;

/**
 * Whatever runs a prepared statement: a `Db`, a transaction, or the readers. Texts are constants: each
 * is prepared once per connection.
 */
export type Reads = {
  readonly sql: {
    unsafe<Row extends object>(
      text: string,
      parameters: Parameter[],
      options: { readonly prepare: true },
    ): PromiseLike<Row[]>;
  };
};

/** A row as Postgres sends it: the text of each column as bytes, in their order. */
export type RawRow = readonly (Buffer | null)[];

/** Whatever runs a prepared statement for its rows as they come. */
export type RawReads = {
  raw(text: string, parameters: Parameter[]): Promise<readonly RawRow[]>;
};

/** Statements that see the database as it stood when the first of them began. */
export type Snapshot = Reads &
  RawReads & {
    /** Ends it, after what is under way; statements that come later are refused. */
    end(): void;
  };

export type Readers = AsyncDisposable & {
  /**
   * The readers, for the statements of one request.
   * @param signal aborts when the caller no longer waits for the answer; statements then reject with its
   *   reason
   * @param weight of the request, see `Admission`: tells whether its statements are short; long unless
   *   given
   */
  for(signal: AbortSignal | undefined, weight?: number): Reads & RawReads;
  /** The same for a request whose statements must agree: all see one state of the database. */
  snapshot(signal: AbortSignal | undefined, weight?: number): Snapshot;
  /** Statements waiting for a connection. */
  readonly waiting: number;
  /** Of the connections for short statements, for snapshots of light requests, and for the others. */
  readonly load: Readonly<Record<"short" | "light" | "long", PoolLoad>>;
  /** Waits up to 5 s for what runs, then ends all connections. */
  close(): Promise<void>;
};

/** Runs one statement; its rows have the columns of the text. */
export const read = async <Row extends object>(
  { sql }: Reads,
  text: string,
  parameters: Parameter[],
): Promise<Row[]> => await sql.unsafe<Row>(text, parameters, { prepare: true });

/** A statement that takes longer is no short one. */
const SHORT_MS = 100;

/** Up to this weight a request reads few rows by an index, say two pages of a hundred. */
const SHORT_WEIGHT = 5_000;

/** Of all connections, for short statements: the fewer, the more of them travel together. */
const SHARE_OF_SHORT = 0.3;

/** Of all connections, for snapshots of light requests. */
const SHARE_OF_LIGHT = 0.2;

/** Short statements on a connection at once. */
const TOGETHER = 12;

/** Where no statement has a timeout. */
const NO_TIMEOUT_MS = 600_000;

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
} as const;

type Running<Row> = {
  /** Sends the statement. */
  readonly ask: Ask<Row>;
  readonly signal: AbortSignal | undefined;
};

/**
 * Prepares `max` connections, three at the least; each is made when it is first needed, and again when it
 * was lost.
 */
export const createReaders = (settings: ConnectionSettings & { readonly max: number }): Readers => {
  const { connection, ...options } = connectionOptions(settings);
  const { statementTimeoutMs = NO_TIMEOUT_MS } = settings;
  /** Number of the server process behind a connection, as its last answer told. */
  const processes = new WeakMap<Client, number>();
  const openWith = (timeout: { readonly statement_timeout?: number }) => (): Client => {
    // In a variable: the driver's type declaration leaves `onclose` out.
    const own = {
      ...options,
      max: 1,
      // It would be made anew while a caller waits, and under another number.
      max_lifetime: null,
      onclose: () => processes.delete(client),
      connection: { ...connection, ...PAGES_BY_INDEX, ...timeout },
    };
    const client: Client = postgres(settings.url, own);
    return client;
  };
  const forShort = Math.max(1, Math.round(settings.max * SHARE_OF_SHORT));
  const short = createSeats({
    seats: forShort,
    capacity: TOGETHER,
    open: openWith({ statement_timeout: Math.min(SHORT_MS, statementTimeoutMs) }),
    end: options.end,
  });
  const forLight = Math.max(1, Math.round(settings.max * SHARE_OF_LIGHT));
  const apart = (seats: number) =>
    createSeats({ seats, capacity: 1, open: openWith({}), end: options.end });
  const light = apart(forLight);
  const long = apart(Math.max(1, settings.max - forShort - forLight));
  /** Its statements are never waited for by a caller, nor cancelled. */
  const canceller = postgres(settings.url, { ...options, max: 1, connection });

  const deadline: Deadline = { ms: statementTimeoutMs + LOST_AFTER_MS };
  const lost = () => new DatabaseUnavailableError("a connection to the database does not answer");
  /** Runs a statement on a seat that was taken; a connection that failed it is not used again. */
  const runOn = async <Row>(
    seats: Seats<Client>,
    seat: Seat<Client>,
    client: Client,
    ask: Ask<Row>,
  ): Promise<Row[]> => {
    try {
      const rows = await withinDeadline(ask(client), deadline, lost);
      processes.set(client, rows.state.pid);
      return takenOut(rows);
    } catch (error) {
      if (!isOfStatement(error)) seats.replace(seat, client);
      throw error;
    }
  };

  const runTogether = async <Row>(running: Running<Row>): Promise<Row[]> => {
    const { ask, signal } = running;
    const seat = await short.take(signal);
    try {
      signal?.throwIfAborted();
      return await runOn(short, seat, seat.client, ask);
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTimeout(error) || statementTimeoutMs <= SHORT_MS) throw error;
    } finally {
      short.giveBack(seat);
    }
    return runAlone(running);
  };

  /** Cancels what runs on a connection when the caller is gone and it has lasted. */
  const watch: SnapshotSeats["watch"] = (signal, client) => {
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
    return () => {
      settled?.();
      return cancelled;
    };
  };

  const runAlone = async <Row>({ ask, signal }: Running<Row>): Promise<Row[]> => {
    const seat = await long.take(signal);
    const { client } = seat;
    let settled: ReturnType<typeof watch> | undefined;
    try {
      signal?.throwIfAborted();
      settled = watch(signal, client);
      return await runOn(long, seat, client, ask);
    } finally {
      const cancelled = settled?.();
      // Its own answer does not wait for that; the connection does.
      if (cancelled === undefined) long.giveBack(seat);
      else void cancelled.then(() => long.giveBack(seat));
    }
  };

  const snapshotsOn = (seats: Seats<Client>): SnapshotSeats => ({
    seats,
    runOn: (seat, client, ask) => runOn(seats, seat, client, ask),
    processOf: (client) => processes.get(client),
    watch,
  });
  const [lightSnapshots, longSnapshots] = [snapshotsOn(light), snapshotsOn(long)];

  const close = async () => {
    await Promise.all([short.close(), light.close(), long.close(), options.end(canceller)]);
  };
  return {
    for: (signal, weight = Number.POSITIVE_INFINITY) => {
      const runs = weight <= SHORT_WEIGHT ? runTogether : runAlone;
      const run = async <Row>(ask: Running<Row>["ask"]): Promise<Row[]> => {
        const rows = await runs({ ask, signal });
        // Making an answer of them would be most of the work.
        signal?.throwIfAborted();
        return rows;
      };
      return readsBy(run);
    },
    snapshot: (signal, weight = Number.POSITIVE_INFINITY) => {
      const seats = weight <= SHORT_WEIGHT ? lightSnapshots : longSnapshots;
      const { run, end } = createSnapshot(seats, signal);
      return { ...readsBy(run), end };
    },
    get load() {
      return { short: short.load, light: light.load, long: long.load };
    },
    get waiting() {
      return short.waiting + light.waiting + long.waiting;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

const readsBy = (run: <Row>(ask: Ask<Row>) => Promise<Row[]>): Reads & RawReads => ({
  sql: {
    unsafe: <Row extends object>(text: string, parameters: Parameter[]) =>
      run<Row>((client) => client.unsafe<Row[]>(text, parameters, { prepare: true }).execute()),
  },
  raw: (text, parameters) =>
    run<RawRow>((client) => client.unsafe(text, parameters, { prepare: true }).raw().execute()),
});

/**
 * The rows, taken out of what the driver gave. Its queries are promises that outlive the collections of
 * young objects, each with all it holds: rows left in them are copied as if they were in use,
 * and die in the collection of everything.
 *
 * When a statement fails after its first rows, the driver goes on counting with the next one: its rows
 * then stand behind as many holes.
 */
const takenOut = <Row>(answered: Answered<Row>): Row[] => {
  const rows = answered.slice(Math.max(0, answered.length - answered.count));
  answered.length = 0;
  return rows;
};

/** The connection goes on: Postgres refused a statement, and did not end the session. */
const isOfStatement = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity === "ERROR";

/** Postgres ended the statement (`query_canceled`). */
const isTimeout = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "57014";
