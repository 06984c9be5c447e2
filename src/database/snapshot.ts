/**
 * One snapshot of the database for all statements of a request.
 *
 * The transaction is never waited for: what begins it travels with the first statement, and its end with
 * nothing. A statement that fails takes no other along: its neighbours run once more, from the same snapshot.
 */
import postgres from "postgres";
import { DatabaseUnavailableError } from "./database-error.ts";
import type { Seat, Seats } from "./seats.ts";

/** A connection as readers have it. */
export type Client = postgres.Sql<{ bigint: bigint }>;

/** Rows, and what the driver tells of them. */
export type Answered<Row> = Row[] & {
  readonly count: number;
  readonly state: { readonly pid: number };
};

/** Sends one statement, at once: not when it is awaited. */
export type Ask<Row> = (client: Client) => PromiseLike<Answered<Row>>;

/** Statements that see the database as it stood when the first of them began. */
export type SnapshotRun = {
  run<Row>(ask: Ask<Row>): Promise<Row[]>;
  /** Ends it, after what is under way; statements that come later are refused. */
  end(): void;
};

/** The connections that snapshots are taken on, each by one at a time. */
export type SnapshotSeats = {
  readonly seats: Seats<Client>;
  /** Runs one statement on a seat that was taken. */
  runOn<Row>(seat: Seat<Client>, client: Client, ask: Ask<Row>): Promise<Row[]>;
  /** Number of the server process behind a connection; undefined once it is lost. */
  processOf(client: Client): number | undefined;
  /**
   * Cancels what a connection runs, once the caller is gone and it has lasted.
   * @returns calls that off; what it gives is settled when the connection is another's to use
   */
  watch(signal: AbortSignal | undefined, client: Client): () => Promise<unknown> | undefined;
};

// In one message: a statement that fails can be undone from the beginning on.
const BEGIN = "begin isolation level repeatable read read only; savepoint begun";
const AGAIN = "rollback to savepoint begun";
const COMMIT = "commit";

type Opened = {
  readonly seat: Seat<Client>;
  readonly client: Client;
  /** Number of the server process that began it. */
  readonly begun: Promise<number | undefined>;
  readonly unwatch: () => Promise<unknown> | undefined;
};

/** A snapshot that is taken when its first statement comes; one that never has any costs nothing. */
export const createSnapshot = (
  { seats, runOn, processOf, watch }: SnapshotSeats,
  signal: AbortSignal | undefined,
): SnapshotRun => {
  let opened: Promise<Opened> | undefined;
  let ended = false;

  const command = (text: string) => (client: Client) => client.unsafe(text).simple().execute();

  const open = async (): Promise<Opened> => {
    const seat = await seats.take(signal);
    const { client } = seat;
    const unwatch = watch(signal, client);
    const begun = runOn(seat, client, command(BEGIN)).then(() => processOf(client));
    // Told to each statement.
    begun.catch(() => undefined);
    return { seat, client, begun, unwatch };
  };

  const inside = async <Row>({ seat, client, begun }: Opened, ask: Ask<Row>): Promise<Row[]> => {
    const [process, rows] = await Promise.all([begun, runOn(seat, client, ask)]);
    // The driver makes a lost connection anew: what runs there is in no transaction.
    if (process === undefined || processOf(client) !== process) {
      seats.replace(seat, client);
      throw new DatabaseUnavailableError("the connection of a snapshot was lost");
    }
    return rows;
  };

  const run = async <Row>(ask: Ask<Row>): Promise<Row[]> => {
    if (ended) throw new Error("a statement came after the end of its snapshot");
    signal?.throwIfAborted();
    opened ??= open();
    const place = await opened;
    signal?.throwIfAborted();
    const rows = await inside(place, ask).catch((error: unknown) => {
      if (!isOfNeighbour(error) || signal?.aborted) throw error;
      // Sent together, so that no other statement comes between.
      const again = inside(place, command(AGAIN));
      return Promise.all([inside(place, ask), again]).then(([rows]) => rows);
    });
    signal?.throwIfAborted();
    return rows;
  };

  const close = async ({ seat, client, unwatch }: Opened): Promise<void> => {
    // Whatever becomes of it: a connection that fails it is made anew.
    runOn(seat, client, command(COMMIT)).catch(() => undefined);
    await unwatch();
    seats.giveBack(seat);
  };

  return {
    run,
    end: () => {
      if (ended) return;
      ended = true;
      // One whose caller left before it had a connection has nothing to end.
      opened?.then(close).catch(() => undefined);
    },
  };
};

/** Another statement of the transaction failed before (`in_failed_sql_transaction`). */
const isOfNeighbour = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "25P02";
