/**
 * Access to Postgres.
 *
 * One way for everything: `database.db` for single statements (drizzle, and postgres.js as `db.sql`),
 * `database.transaction` for several that belong together. Inside a transaction `tx` and `tx.sql` are
 * the same connection, so COPY or unnest and drizzle statements mix freely. There is no
 * `db.transaction`: see session.ts for what is wrong with it.
 *
 * How values come back: int8 as `bigint`; numeric as text in `sql`, and as the column's mode says in
 * drizzle (`numeric({ mode: "bigint" })`); timestamps as text in `sql`, always in UTC. Passing arrays
 * or amounts of 2^63 and more through `sql`: see `column-arrays.ts`.
 */
import postgres from "postgres";
import { type ConnectionSettings, connectionOptions } from "./connection.ts";
import { listenUntil } from "./listen.ts";
import type { PoolLoad } from "./pool-load.ts";
import {
  type Db,
  dbOver,
  openSession,
  type Session,
  type Sql,
  type Transactor,
} from "./session.ts";
import { sessionPool } from "./session-pool.ts";

export type { ConnectionSettings } from "./connection.ts";
export { databaseRemedy, databaseRetries } from "./database-error.ts";
export type { Db, Session, Sql, Transactor, Tx } from "./session.ts";

/** A way into one Postgres database. */
export type Database = Transactor &
  AsyncDisposable & {
    /** Single statements, on any connection of the pool; reconnects by itself. */
    readonly db: Db;
    /** The same as `db.sql`. */
    readonly sql: Sql;
    /**
     * A connection of one's own, not counted in `max`: for session locks and for writing under
     * them. The caller closes it.
     */
    session(settings?: Pick<ConnectionSettings, "synchronousCommit" | "runtime">): Promise<Session>;
    /**
     * Calls `heard` with the payload of every notification on the channel, and with null whenever it
     * has just begun to listen (some may have been missed), until `signal` aborts. Uses its own
     * connection and reconnects. Notifications are hints: poll as well.
     */
    listen(channel: string, heard: (payload: string | null) => void, signal: AbortSignal): void;
    /** Of the connections that transactions run on. */
    readonly load: PoolLoad;
    /** Waits up to 5 s for what runs, then ends all connections. */
    close(): Promise<void>;
  };

/**
 * Prepares access; the first statement connects.
 *
 * `max` bounds the pool's connections and, separately, those that transactions run on.
 */
export const connect = (settings: ConnectionSettings & { readonly max: number }): Database => {
  const options = connectionOptions(settings);
  const client = postgres(settings.url, { ...options, max: settings.max });
  const db = dbOver(client);
  const sessions = sessionPool(settings.max, () => openSession(settings));
  const close = async () => {
    await Promise.all([sessions.close(), options.end(client)]);
  };
  return {
    db,
    sql: client,
    transaction: (work) => sessions.use((session) => session.transaction(work)),
    statement: (work) => sessions.use((session) => session.statement(work)),
    session: (overrides) => openSession({ ...settings, ...overrides }),
    listen: (channel, heard, signal) => {
      void listenUntil(signal, settings, channel, heard);
    },
    get load() {
      return sessions.load;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};
