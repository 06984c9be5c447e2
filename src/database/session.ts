/**
 * A session: one Postgres connection that never reconnects.
 *
 * The pool of postgres.js reconnects silently: when a connection dies inside a transaction, the
 * remaining statements would run on a new one, each committed by itself. So transactions and
 * session locks live on a session. Once its connection is gone it only fails: nothing of a broken
 * transaction reaches the database, and a lock guards what is written through its session.
 */
import type { Socket } from "node:net";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { type ConnectionSettings, connectionOptions, type Types } from "./connection.ts";
import {
  isConnectionFailure,
  SessionLostError,
  TransactionRolledBackError,
} from "./database-error.ts";

/** postgres.js: tagged templates, prepared once per connection. */
export type Sql = postgres.ISql<Types>;

/** Drizzle, and `sql` on the same connections; for transactions, use `Database.transaction`. */
export type Db = Omit<PostgresJsDatabase<Record<string, never>>, "transaction"> & {
  readonly sql: Sql;
};

/** Statements of one open transaction. */
export type Tx = Db;

/** Runs transactions: the database (any free session) or a session. */
export type Transactor = {
  /**
   * Commits when `work` returns, rolls back when it throws. Statements sent without awaiting each
   * other share a round trip, in order; all must have ended when `work` does (`Promise.allSettled`
   * where one may fail).
   * @throws SessionLostError (retry) when the connection died before the commit was confirmed; the
   * commit may have happened
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs one statement as its own transaction, in one round trip.
   * @throws SessionLostError (retry) as `transaction` does
   */
  statement<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
};

/** Runs statements and transactions inside an open transaction. */
export const within = (tx: Tx): Transactor => ({
  statement: (work) => work(tx.sql),
  transaction: (work) => work(tx),
});

/** One connection, until it is lost. */
export type Session = Transactor &
  AsyncDisposable & {
    /** Statements outside a transaction, such as session locks. */
    readonly sql: Sql;
    /** Aborts when the connection is lost (reason: SessionLostError) or closed. */
    readonly lost: AbortSignal;
    /** Closes the connection; Postgres rolls back and releases locks. Idempotent. */
    close(): Promise<void>;
  };

/** Drizzle over postgres.js; unnamed columns become snake_case. */
export const dbOver = (client: postgres.Sql<Types>): Db =>
  Object.assign(drizzle(client, { casing: "snake_case" }), { sql: client });

/**
 * Opens a session. `onNotify` gets notifications of channels it listens to.
 * @throws the driver's error when it cannot connect; see `databaseRemedy`
 */
export const openSession = async (
  settings: ConnectionSettings,
  onNotify?: (channel: string, payload: string) => void,
): Promise<Session> => {
  const lost = new AbortController();
  const shared = connectionOptions(settings);
  const { socket, destroy } = once(shared.socket, settings.applicationName);
  const lose = () => {
    lost.abort(new SessionLostError(settings.applicationName));
    // Later statements are refused immediately.
    void client.end({ timeout: 0 });
    void destroy();
  };
  // A variable, as the driver's type omits `socket` and `onnotify`.
  const options = {
    ...shared,
    max: 1,
    // Both would end a connection that holds locks.
    idle_timeout: undefined,
    max_lifetime: null,
    onclose: lose,
    onnotify: onNotify,
    socket,
  };
  const client = postgres(settings.url, options);
  try {
    await client`select 1`;
  } catch (error) {
    lose();
    throw error;
  }

  const db = dbOver(client);
  const inTurn = oneAtATime();
  const close = async () => {
    lost.abort(new SessionLostError(settings.applicationName));
    await shared.end(client);
    await destroy();
  };
  const whileHeld = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      lost.signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (!lost.signal.aborted && !isConnectionFailure(error)) throw error;
        lose();
        throw new SessionLostError(settings.applicationName, error);
      }
    });
  return {
    sql: client,
    lost: lost.signal,
    transaction: (work) => whileHeld(() => transact(client, db, work)),
    statement: (work) => whileHeld(() => work(client)),
    close,
    [Symbol.asyncDispose]: close,
  };
};

const transact = async <T>(
  client: postgres.Sql<Types>,
  db: Db,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  // Not awaited: sent with the first statements of `work`.
  const begun = client.unsafe("begin").execute();
  begun.catch(() => undefined);
  let result: T;
  try {
    result = await work(db);
    await begun;
  } catch (error) {
    // If this fails, the connection and the transaction are gone.
    if (!isConnectionFailure(error)) await client.unsafe("rollback").catch(() => undefined);
    throw error;
  }
  const { command } = await client.unsafe("commit");
  if (command !== "COMMIT") throw new TransactionRolledBackError();
  return result;
};

/** Connects once, then refuses. */
const once = (connect: () => Promise<Socket>, applicationName: string) => {
  let made: Promise<Socket> | undefined;
  return {
    socket: async (): Promise<Socket> => {
      if (made !== undefined) throw new SessionLostError(applicationName);
      made = connect();
      return made;
    },
    /** The driver would wait for the other side to close. */
    destroy: () =>
      made?.then(
        (socket) => socket.destroy(),
        () => undefined,
      ),
  };
};
