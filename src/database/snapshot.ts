/**
 * One snapshot for all statements of a request.
 *
 * Neither begin nor commit is awaited: begin travels with the first statement. A failing statement
 * does not fail others: they run again in the same snapshot.
 */
import postgres from "postgres";
import type { Slot, Slots } from "./connection-slots.ts";
import { DatabaseUnavailableError } from "./database-error.ts";

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
export type SnapshotSlots = {
  readonly slots: Slots<Client>;
  /** See `createReaders`. */
  readonly lockedFirst: readonly string[];
  runOn<Row>(slot: Slot<Client>, client: Client, ask: Ask<Row>): Promise<Row[]>;
  /** Server process of a connection; undefined once lost. */
  processOf(client: Client): number | undefined;
  /**
   * Cancels a connection's statement once the caller is gone and it has lasted.
   * @returns stops watching; its promise settles when the connection can be reused
   */
  watch(signal: AbortSignal | undefined, client: Client): () => Promise<unknown> | undefined;
};

/** One message, with a savepoint to undo a failed statement. */
const beginning = (lockedFirst: readonly string[]): string => {
  const lock =
    lockedFirst.length === 0 ? "" : `lock table ${lockedFirst.join(", ")} in access share mode; `;
  return `begin isolation level repeatable read read only; ${lock}savepoint begun`;
};
const AGAIN = "rollback to savepoint begun";
const COMMIT = "commit";

type Opened = {
  readonly slot: Slot<Client>;
  readonly client: Client;
  /** Server process that began it. */
  readonly begun: Promise<number | undefined>;
  readonly unwatch: () => Promise<unknown> | undefined;
};

/** The transaction begins with its first statement; without one it costs nothing. */
export const createSnapshot = (
  { slots, lockedFirst, runOn, processOf, watch }: SnapshotSlots,
  signal: AbortSignal | undefined,
): SnapshotRun => {
  let opened: Promise<Opened> | undefined;
  let ended = false;

  const command = (text: string) => (client: Client) => client.unsafe(text).simple().execute();

  const open = async (): Promise<Opened> => {
    const slot = await slots.take(signal);
    const { client } = slot;
    const unwatch = watch(signal, client);
    const begun = runOn(slot, client, command(beginning(lockedFirst))).then(() =>
      processOf(client),
    );
    // Each statement awaits it.
    begun.catch(() => undefined);
    return { slot, client, begun, unwatch };
  };

  const inside = async <Row>({ slot, client, begun }: Opened, ask: Ask<Row>): Promise<Row[]> => {
    const [process, rows] = await Promise.all([begun, runOn(slot, client, ask)]);
    // The driver reconnects, and statements there are outside the transaction.
    if (process === undefined || processOf(client) !== process) {
      slots.replace(slot, client);
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

  const close = async ({ slot, client, unwatch }: Opened): Promise<void> => {
    // A connection on which this fails is replaced.
    runOn(slot, client, command(COMMIT)).catch(() => undefined);
    await unwatch();
    slots.giveBack(slot);
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
