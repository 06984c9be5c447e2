/**
 * Access to Postgres.
 *
 * `database.db` runs single statements (drizzle, and postgres.js as `db.sql`);
 * `database.transaction` runs several as one. Inside, `tx` and `tx.sql` share a connection, so
 * COPY, unnest and drizzle mix freely. There is no `db.transaction`; session.ts says why.
 *
 * int8 returns as `bigint`; numeric as text in `sql` and by the column's mode in drizzle;
 * timestamps as UTC text in `sql`. For arrays, and amounts from 2^63, see `column-arrays.ts`.
 */

import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import type { Backoff } from "../waiting/backoff.ts";
import { retrying } from "../waiting/retrying.ts";
import { type ConnectionSettings, connectionOptions } from "./connection.ts";
import type { PoolLoad } from "./connection-slots.ts";
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

export type Database = Transactor &
  AsyncDisposable & {
    /** Single statements on any pooled connection; reconnects. */
    readonly db: Db;
    /** Same as `db.sql`. */
    readonly sql: Sql;
    /** Opens a connection outside the pool, for session locks; the caller closes it. */
    session(settings?: Pick<ConnectionSettings, "synchronousCommit" | "runtime">): Promise<Session>;
    /**
     * Calls `onNotify` with the payload of each notification, and with null after each (re)connect,
     * when some may have been missed, until `signal` aborts. Uses its own connection. Notifications
     * are hints: poll as well.
     */
    listen(channel: string, onNotify: (payload: string | null) => void, signal: AbortSignal): void;
    /** Load of the transaction pool. */
    readonly load: PoolLoad;
    /** Waits up to 5 s for running statements, then ends all connections. */
    close(): Promise<void>;
  };

/**
 * Connects lazily.
 *
 * `max` limits the pool's connections and, separately, those of transactions.
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
    listen: (channel, onNotify, signal) => {
      void listenUntil(signal, settings, channel, onNotify);
    },
    get load() {
      return sessions.load;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

const RECONNECT: Backoff = { firstMs: 1_000, maxMs: 1_000 };

/** Interval of a test statement, to notice a connection that died silently. */
const USE_EVERY_MS = 15_000;

/** See `Database.listen`. Never rejects: every listener also polls. */
const listenUntil = async (
  signal: AbortSignal,
  settings: ConnectionSettings,
  channel: string,
  onNotify: (payload: string | null) => void,
): Promise<void> => {
  const name = `"${channel.replaceAll('"', '""')}"`;
  const attempt = async (): Promise<void> => {
    await using session = await openSession(settings, (_, payload) => onNotify(payload));
    await session.sql.unsafe(`listen ${name}`);
    onNotify(null);
    const ended = AbortSignal.any([session.lost, signal]);
    while (!ended.aborted) {
      await delay(USE_EVERY_MS, undefined, { signal: ended, ref: false }).catch(() => undefined);
      if (!ended.aborted) await session.sql`select 1`;
    }
    session.lost.throwIfAborted();
  };
  // The cause shows where the database is used.
  await retrying(attempt, { backoff: RECONNECT, remedy: () => "retry" }, signal);
};
