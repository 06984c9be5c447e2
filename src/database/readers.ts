/**
 * Connections for callers' statements.
 *
 * Short statements are pipelined over few connections: one write carries several, which is most of
 * their cost. They are not cancelled; one that lasts is ended by the server and starts again as a
 * long one.
 *
 * A long statement has a connection to itself, because cancelling addresses a connection. The
 * connection is reused only after the cancellation was delivered.
 *
 * Requests with several statements run them in one snapshot on one connection: light ones on
 * reserved connections, heavy ones among the long.
 *
 * A statement still waiting is dropped when its caller hangs up.
 */
import postgres from "postgres";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { type ConnectionSettings, connectionOptions, LOST_AFTER_MS } from "./connection.ts";
import { createSlots, type PoolLoad, type Slot, type Slots } from "./connection-slots.ts";
import { DatabaseUnavailableError } from "./database-error.ts";
import { type ServerPosition, withPosition } from "./replicas/position.ts";
import {
  type Answered,
  type Ask,
  type Client,
  createSnapshot,
  type SnapshotSlots,
} from "./snapshot.ts";

/** A parameter; its type comes from the cast in the statement. */
export type Parameter = string | number | boolean | bigint | Uint8Array | null;

/** Runs prepared statements, whose texts are constants: a `Db`, a transaction or readers. */
export type Reads = {
  readonly sql: {
    unsafe<Row extends object>(
      text: string,
      parameters: Parameter[],
      options: { readonly prepare: true },
    ): PromiseLike<Row[]>;
  };
};

/** A row as Postgres sends it: each column's text as bytes. */
export type RawRow = readonly (Buffer | null)[];

export type RawReads = {
  raw(text: string, parameters: Parameter[]): Promise<readonly RawRow[]>;
};

/** Statements that see one state of the database. */
export type Snapshot = Reads &
  RawReads & {
    /** Ends it after running statements; later ones are refused. */
    end(): void;
  };

export type Readers = AsyncDisposable & {
  /**
   * Readers for one request.
   * @param signal aborts when the caller is gone; statements reject with its reason
   * @param weight the request's, see `Admission`; a heavy one by default
   */
  for(signal: AbortSignal | undefined, weight?: number): Reads & RawReads;
  /** The same for statements that must see one state. */
  snapshot(signal: AbortSignal | undefined, weight?: number): Snapshot;
  /** Statements waiting for a connection. */
  readonly waiting: number;
  /** Load of the pools: short statements, snapshots of light requests, others. */
  readonly load: Readonly<Record<"short" | "light" | "long", PoolLoad>>;
  /** Waits up to 5 s for running statements, then ends all connections. */
  close(): Promise<void>;
};

/** Runs one statement; rows have the columns of its text. */
export const read = async <Row extends object>(
  { sql }: Reads,
  text: string,
  parameters: Parameter[],
): Promise<Row[]> => await sql.unsafe<Row>(text, parameters, { prepare: true });

const SHORT_MS = 100;

/** Up to this weight a request reads few rows by an index: about two pages of 100. */
const SHORT_WEIGHT = 5_000;

/** Fewer connections mean more statements per write. */
const SHARE_OF_SHORT = 0.3;

const SHARE_OF_LIGHT = 0.2;

/** Short statements in flight per connection. */
const TOGETHER = 12;

/** Used when statements have no timeout. */
const NO_TIMEOUT_MS = 600_000;

/**
 * Pages are read by an index and a limit. Whatever the statistics say (a plan may stem from an
 * empty table), never scan or sort; then the generic plan is right, and planning each time would
 * cost more than the page.
 */
const PAGES_BY_INDEX = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_sort: "off",
} as const;

type Running<Row> = {
  readonly ask: Ask<Row>;
  readonly signal: AbortSignal | undefined;
};

export type ReaderSettings = ConnectionSettings & {
  readonly max: number;
  /** Tables that a snapshot locks, as a reader, before it takes its state. */
  readonly lockedFirst?: readonly string[];
  /** Called with where the server is behind each answer; may throw to discard it. */
  readonly onPosition?: ((at: ServerPosition) => void) | undefined;
};

/** Opens up to `max` connections lazily, at least three; replaces lost ones. */
export const createReaders = ({
  lockedFirst = [],
  onPosition,
  ...settings
}: ReaderSettings): Readers => {
  const { connection, ...options } = connectionOptions(settings);
  const { statementTimeoutMs = NO_TIMEOUT_MS } = settings;
  /** Server process of a connection, from its last answer. */
  const processes = new WeakMap<Client, number>();
  const openWith = (timeout: { readonly statement_timeout?: number }) => (): Client => {
    // A variable, as the driver's type omits `onclose`.
    const own = {
      ...options,
      max: 1,
      // A reconnect would delay a caller, and change the process id.
      max_lifetime: null,
      onclose: () => processes.delete(client),
      connection: { ...connection, ...PAGES_BY_INDEX, ...timeout },
    };
    const client: Client = postgres(settings.url, own);
    return client;
  };
  const forShort = Math.max(1, Math.round(settings.max * SHARE_OF_SHORT));
  const short = createSlots({
    slots: forShort,
    capacity: TOGETHER,
    open: openWith({ statement_timeout: Math.min(SHORT_MS, statementTimeoutMs) }),
    end: options.end,
  });
  const forLight = Math.max(1, Math.round(settings.max * SHARE_OF_LIGHT));
  const apart = (slots: number) =>
    createSlots({ slots, capacity: 1, open: openWith({}), end: options.end });
  const light = apart(forLight);
  const long = apart(Math.max(1, settings.max - forShort - forLight));
  /** For cancelling only: not awaited by callers, not cancelled. */
  const canceller = postgres(settings.url, { ...options, max: 1, connection });

  const deadline: Deadline = { ms: statementTimeoutMs + LOST_AFTER_MS };
  const lost = () => new DatabaseUnavailableError("a connection to the database does not answer");
  /** Runs a statement on a slot; a connection that failed is replaced. */
  const runOn = async <Row>(
    slots: Slots<Client>,
    slot: Slot<Client>,
    client: Client,
    ask: Ask<Row>,
  ): Promise<Row[]> => {
    try {
      const rows = await withinDeadline(ask(client), deadline, lost);
      processes.set(client, rows.state.pid);
      return takenOut(rows);
    } catch (error) {
      if (!isOfStatement(error)) slots.replace(slot, client);
      throw error;
    }
  };

  const runTogether = async <Row>(running: Running<Row>): Promise<Row[]> => {
    const { ask, signal } = running;
    const slot = await short.take(signal);
    try {
      signal?.throwIfAborted();
      return await runOn(short, slot, slot.client, ask);
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTimeout(error) || statementTimeoutMs <= SHORT_MS) throw error;
    } finally {
      short.giveBack(slot);
    }
    return runAlone(running);
  };

  /** Cancels a connection's statement when the caller is gone and it has lasted. */
  const watch: SnapshotSlots["watch"] = (signal, client) => {
    let cancelled: Promise<unknown> | undefined;
    const settled =
      signal &&
      whenLasting(signal, () => {
        // Unknown on a new connection: the timeout ends the statement.
        const process = processes.get(client);
        if (process === undefined) return;
        // If it cannot be sent, the timeout ends the statement.
        cancelled = canceller`select pg_cancel_backend(${process})`.catch(() => undefined);
      });
    return () => {
      settled?.();
      return cancelled;
    };
  };

  const runAlone = async <Row>({ ask, signal }: Running<Row>): Promise<Row[]> => {
    const slot = await long.take(signal);
    const { client } = slot;
    let settled: ReturnType<typeof watch> | undefined;
    try {
      signal?.throwIfAborted();
      settled = watch(signal, client);
      return await runOn(long, slot, client, ask);
    } finally {
      const cancelled = settled?.();
      // The connection waits for the cancellation, the answer does not.
      if (cancelled === undefined) long.giveBack(slot);
      else void cancelled.then(() => long.giveBack(slot));
    }
  };

  const snapshotsOn = (slots: Slots<Client>): SnapshotSlots => ({
    slots,
    lockedFirst,
    runOn: (slot, client, ask) => runOn(slots, slot, client, ask),
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
        const rows = await runs({ ask: withPosition(ask, onPosition), signal });
        // Skip building an answer that is no longer wanted.
        signal?.throwIfAborted();
        return rows;
      };
      return readsBy(run);
    },
    snapshot: (signal, weight = Number.POSITIVE_INFINITY) => {
      const slots = weight <= SHORT_WEIGHT ? lightSnapshots : longSnapshots;
      const { run, end } = createSnapshot(slots, signal);
      return { ...readsBy((ask) => run(withPosition(ask, onPosition))), end };
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
 * Takes the rows out of the driver's array: its query promises outlive young collections and would
 * keep the rows alive.
 *
 * When a statement fails after its first rows, the driver starts the next one's rows behind as many
 * holes.
 */
const takenOut = <Row>(answered: Answered<Row>): Row[] => {
  const rows = answered.slice(Math.max(0, answered.length - answered.count));
  answered.length = 0;
  return rows;
};

/** Postgres refused a statement but kept the session. */
const isOfStatement = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity === "ERROR";

/** `query_canceled`. */
const isTimeout = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "57014";

/** Statements that end within this time are not cancelled. */
const CANCEL_AFTER_MS = 250;

/** Calls `then` once the signal aborted and the statement lasted; returns how to stop that. */
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
