/**
 * A session: one Postgres connection that never reconnects.
 *
 * The pool of postgres.js reconnects under the hood. Inside a transaction that is a trap: when its
 * connection dies, statements the transaction has yet to send run on the new connection, each
 * committed on its own. Transactions and session locks therefore live on a session. Once its
 * connection is gone a session only ever fails, so nothing of a broken transaction can reach the
 * database, and a lock held on it guards exactly what is written through it.
 */
import { createConnection, type Socket } from "node:net";
import type { PostgresJsDatabase } from "drizzle-orm/postgres-js";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import {
  isConnectionFailure,
  SessionLostError,
  TransactionRolledBackError,
} from "./database-error.ts";

/** How JavaScript sees the types of Postgres that postgres.js leaves as text. */
type Types = { bigint: bigint };

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

/** How connections are made; shared by the pool and the sessions. */
export type ConnectionSettings = {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** As `pg_stat_activity` shows it. */
  readonly applicationName: string;
  /** A statement that runs longer is cancelled; without it statements may take as long as they need. */
  readonly statementTimeoutMs?: number | undefined;
  /** Refuses every write. */
  readonly readOnly?: boolean | undefined;
  /**
   * `off` confirms commits before they reach the disk. A crash of the server may lose the newest
   * of them, whole and in order, never a part: right for what is replayed from the log.
   */
  readonly synchronousCommit?: "on" | "off" | undefined;
  /** Further settings of Postgres, by name, such as how statements are planned. */
  readonly runtime?: Readonly<Record<string, string>> | undefined;
};

const CONNECT_TIMEOUT_SECONDS = 10;

/**
 * Longest pause before a lost connection is tried again. A statement in the meantime waits for it,
 * and with the driver's default up to 20 s to learn that the server does not answer.
 */
const RECONNECT_SECONDS = 1;

/** A writer that hangs inside a transaction must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 60_000;

/** Options of postgres.js that every connection of ours has. */
export const connectionOptions = (settings: ConnectionSettings) => ({
  connect_timeout: CONNECT_TIMEOUT_SECONDS,
  backoff: (retries: number) => Math.min(RECONNECT_SECONDS, 3 ** retries / 100),
  // The driver would ask for the types of arrays on every connection, and never await the answer:
  // a connection lost just then would end the process. Arrays are passed as literals (column-arrays.ts).
  fetch_types: false,
  // The default prints notices to the console.
  onnotice: () => undefined,
  types: {
    // int8: a number would round, text would compare wrongly.
    bigint: {
      to: 20,
      from: [20],
      parse: (text: string) => BigInt(text),
      serialize: (value: bigint) => value.toString(),
    },
  },
  connection: {
    application_name: settings.applicationName,
    TimeZone: "UTC",
    // Postgres up to 18 ships it on, and before 18 a planner switch that is off makes a plan look dear enough:
    // every small statement of a writer would be compiled, a thousand times what running it takes.
    jit: "off",
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    // The machine of a writer may vanish without a word; its locks must not outlive it by two hours.
    tcp_keepalives_idle: 30,
    tcp_keepalives_interval: 10,
    tcp_keepalives_count: 3,
    ...(settings.statementTimeoutMs !== undefined && {
      statement_timeout: settings.statementTimeoutMs,
    }),
    ...(settings.readOnly && { default_transaction_read_only: true }),
    ...(settings.synchronousCommit && { synchronous_commit: settings.synchronousCommit }),
    ...settings.runtime,
  },
});

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
  const gone = Promise.withResolvers<void>();
  const lose = () => {
    lost.abort(new SessionLostError(settings.applicationName));
    // Statements that come later are refused at once instead of waiting for a connection.
    void client.end({ timeout: 0 });
  };
  // In a variable: the driver's type declaration leaves `socket` and `onnotify` out.
  const options = {
    ...connectionOptions(settings),
    max: 1,
    // Both would end a connection that holds locks.
    idle_timeout: undefined,
    max_lifetime: null,
    onclose: () => {
      lose();
      gone.resolve();
    },
    onnotify: onNotify,
    socket: connectOnce(settings.applicationName),
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
    // When the connection fails just now, the driver waits its whole timeout for an answer.
    await Promise.race([client.end({ timeout: 5 }), gone.promise]);
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

/** What postgres.js tells its `socket` option about where to connect. */
type Target = {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
};

/** Connects the first time (trying every host of the URL) and refuses ever after. */
const connectOnce = (applicationName: string) => {
  let used = false;
  return async ({ host, port, path }: Target): Promise<Socket> => {
    if (used) throw new SessionLostError(applicationName);
    used = true;
    if (path) return connectSocket({ path });
    const failures: unknown[] = [];
    for (const [index, name] of host.entries()) {
      try {
        const socket = await connectSocket({ host: name, port: port[index] ?? 5432 });
        // The driver takes the server name for TLS from here.
        return Object.assign(socket, { host: name });
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.at(-1) ?? new SessionLostError(applicationName);
  };
};

const connectSocket = (
  where: { readonly path: string } | { readonly host: string; readonly port: number },
) =>
  new Promise<Socket>((connected, failed) => {
    const socket = createConnection({ ...where, noDelay: true });
    const settle = () => {
      clearTimeout(deadline);
      socket.removeAllListeners();
    };
    const deadline = setTimeout(() => {
      settle();
      socket.destroy();
      const message = `no answer within ${CONNECT_TIMEOUT_SECONDS} s`;
      failed(Object.assign(new Error(message), { code: "ETIMEDOUT" }));
    }, CONNECT_TIMEOUT_SECONDS * 1_000);
    socket.once("connect", () => {
      settle();
      connected(socket);
    });
    socket.once("error", (error) => {
      settle();
      failed(error);
    });
  });
