/**
 * A session: one Postgres connection that never reconnects.
 *
 * The pool of postgres.js reconnects under the hood. Inside a transaction that is a trap: when its
 * connection dies, statements the transaction has yet to send run on the new connection, each
 * committed on its own. Transactions and session locks therefore live on a session. Once its
 * connection is gone a session only ever fails, so nothing of a broken transaction can reach the
 * database, and a lock held on it guards exactly what is written through it.
 */
import type { Socket } from "node:net";
import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { type ConnectionSettings, connectionOptions, type Types } from "./connection.ts";
import {
  isConnectionFailure,
  SessionLostError,
  TransactionRolledBackError,
} from "./database-error.ts";

/** Statements in postgres.js: tagged templates, prepared once per connection. */
export type Sql = postgres.ISql<Types>;

/**
 * Statements through drizzle, and on the same connections through `sql` (COPY, unnest, hot paths).
 * It has no `transaction`: see `Database.transaction`.
 */
export type Db = Omit<PostgresJsDatabase<Record<string, never>>, "transaction"> & {
  readonly sql: Sql;
};

/** A `Db` whose statements belong to one open transaction: all of them happen, or none. */
export type Tx = Db;

/** Whatever can run a transaction: the database (any free session) or one session. */
export type Transactor = {
  /**
   * Runs `work` in a transaction: committed when it returns, rolled back when it throws.
   * Statements sent without awaiting one another go out in one round trip, in order; all of them must
   * have ended when `work` does (`Promise.allSettled`, not `Promise.all`, where one may fail).
   * @throws SessionLostError (retry) when the connection died before the commit was confirmed: the
   *   transaction has usually not happened, but a lost confirmation cannot be told from a lost commit
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs one statement, which is a transaction by itself: no round trip beside its own.
   * @throws SessionLostError (retry) as `transaction` does
   */
  statement<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
};

/** One connection, until it is lost. */
export type Session = Transactor &
  AsyncDisposable & {
    /** Statements outside a transaction, such as session locks. */
    readonly sql: Sql;
    /** Aborts when the connection is gone (reason: SessionLostError), or was closed. */
    readonly lost: AbortSignal;
    /** Ends the connection; Postgres rolls back what is open and frees its locks. Safe to call twice. */
    close(): Promise<void>;
  };

/** Drizzle over a postgres.js client. Columns without a name of their own are snake_case. */
export const dbOver = (client: postgres.Sql<Types>): Db =>
  Object.assign(drizzle(client, { casing: "snake_case" }), { sql: client });

/**
 * Opens a session. `onNotify` hears of notifications on channels the session listens to.
 * @throws what the driver throws when no connection can be made; `databaseRemedy` knows it
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
    // Statements that come later are refused at once instead of waiting for a connection.
    void client.end({ timeout: 0 });
    void destroy();
  };
  // In a variable: the driver's type declaration leaves `socket` and `onnotify` out.
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
  // Not awaited: it leaves together with the first statements of `work`.
  const begun = client.unsafe("begin").execute();
  begun.catch(() => undefined);
  let result: T;
  try {
    result = await work(db);
    await begun;
  } catch (error) {
    // When this fails the connection is gone, and the transaction with it.
    if (!isConnectionFailure(error)) await client.unsafe("rollback").catch(() => undefined);
    throw error;
  }
  const { command } = await client.unsafe("commit");
  if (command !== "COMMIT") throw new TransactionRolledBackError();
  return result;
};

/** Connects the first time and refuses ever after. */
const once = (connect: () => Promise<Socket>, applicationName: string) => {
  let made: Promise<Socket> | undefined;
  return {
    socket: async (): Promise<Socket> => {
      if (made !== undefined) throw new SessionLostError(applicationName);
      made = connect();
      return made;
    },
    /** The driver would wait for the other side to close it, too. */
    destroy: () =>
      made?.then(
        (socket) => socket.destroy(),
        () => undefined,
      ),
  };
};
