/**
 * One snapshot for all statements of a request.
 *
 * Neither begin nor commit is awaited: begin travels with the first statement. A failing statement
 * does not fail others: they run again in the same snapshot.
 */
import postgres from "postgres";
import { DatabaseUnavailableError } from "./database-error.ts";
import type { Seat, Seats } from "./seats.ts";

export type Client = postgres.Sql<{ bigint: bigint }>;

/** Rows with the driver's metadata. */
export type Answered<Row> = Row[] & {
  readonly count: number;
  readonly state: { readonly pid: number };
};

/** Sends a statement immediately, not when awaited. */
export type Ask<Row> = (client: Client) => PromiseLike<Answered<Row>>;

type SnapshotRun = {
  run<Row>(ask: Ask<Row>): Promise<Row[]>;
  /** Ends it after running statements; later ones are refused. */
  end(): void;
};

/** Connections for snapshots, one snapshot each at a time. */
export type SnapshotSeats = {
  readonly seats: Seats<Client>;
  runOn<Row>(seat: Seat<Client>, client: Client, ask: Ask<Row>): Promise<Row[]>;
  /** Server process of a connection; undefined once lost. */
  processOf(client: Client): number | undefined;
  /**
   * Cancels a connection's statement once the caller is gone and it has lasted.
   * @returns stops watching; its promise settles when the connection can be reused
   */
  watch(signal: AbortSignal | undefined, client: Client): () => Promise<unknown> | undefined;
};

// One message, with a savepoint to undo a failed statement.
const BEGIN = "begin isolation level repeatable read read only; savepoint begun";
const AGAIN = "rollback to savepoint begun";
const COMMIT = "commit";

type Opened = {
  readonly seat: Seat<Client>;
  readonly client: Client;
  /** Server process that began it. */
  readonly begun: Promise<number | undefined>;
  readonly unwatch: () => Promise<unknown> | undefined;
};

/** The transaction begins with its first statement; without one it costs nothing. */
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
    // Each statement awaits it.
    begun.catch(() => undefined);
    return { seat, client, begun, unwatch };
  };

  const inside = async <Row>({ seat, client, begun }: Opened, ask: Ask<Row>): Promise<Row[]> => {
    const [process, rows] = await Promise.all([begun, runOn(seat, client, ask)]);
    // The driver reconnects, and statements there are outside the transaction.
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
    // A connection on which this fails is replaced.
    runOn(seat, client, command(COMMIT)).catch(() => undefined);
    await unwatch();
    seats.giveBack(seat);
  };

  return {
    run,
    end: () => {
      if (ended) return;
      ended = true;
      // A caller that left before it had a connection.
      opened?.then(close).catch(() => undefined);
    },
  };
};

/** `in_failed_sql_transaction`: an earlier statement failed. */
const isOfNeighbour = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "25P02";
