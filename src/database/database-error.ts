import postgres from "postgres";
import type { Remedy } from "../waiting/remedy.ts";
import { remedyOf } from "../waiting/remedy.ts";

/** The connection a transaction or a lock lived on is gone, and with it everything uncommitted: retry. */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
  readonly remedy: Remedy = "retry";

  constructor(applicationName: string, cause?: unknown) {
    super(`${applicationName}: lost its database connection; uncommitted work was rolled back`, {
      cause,
    });
  }
}

/**
 * A statement inside a transaction failed, the failure was swallowed, and the commit became a
 * rollback. A defect in the code that swallowed it: stop.
 */
export class TransactionRolledBackError extends Error {
  override readonly name = "TransactionRolledBackError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("a failed statement was ignored inside a transaction, so Postgres rolled it back");
  }
}

/** A connection gives no answer, or none is given out any more: what was asked can be asked again. Retry. */
export class DatabaseUnavailableError extends Error {
  override readonly name = "DatabaseUnavailableError";
  readonly remedy: Remedy = "retry";
}

/**
 * A connection that owes an answer has moved no byte for so long that the server must be frozen, gone or cut
 * off. It is given up as any connection that was lost: retry.
 */
export class ServerSilentError extends Error {
  override readonly name = "ServerSilentError";
  readonly remedy: Remedy = "retry";
  /** As of other connections that failed, see `isConnectionFailure`. */
  readonly code = "ETIMEDOUT";

  constructor(silentMs: number) {
    super(
      `the database has been silent for ${Math.round(silentMs / 1000)} s over an open statement`,
    );
  }
}

/** No connection became free in time: the database is slower than what is asked of it. Retry. */
export class DatabaseBusyError extends Error {
  override readonly name = "DatabaseBusyError";
  readonly remedy: Remedy = "retry";

  constructor(waitedMs: number) {
    super(`no database connection became free within ${waitedMs} ms`);
  }
}

/**
 * No connection to the database could be made when the process started. Start the server, or correct
 * DATABASE_URL or DATABASE_OWNER_URL, whichever is named.
 */
export class DatabaseUnreachableError extends Error {
  override readonly name = "DatabaseUnreachableError";
  readonly remedy: Remedy = "stop";

  constructor(reason: Error, setting = "DATABASE_URL") {
    // Not as `cause`: the driver's words are all there is to know, once.
    super(`${reason.message}; check ${setting}, and that its server runs and lets us in`);
  }
}

/** SQLSTATE classes of a server that does not let us in. */
const REFUSED_STATES: readonly string[] = [
  "28", // wrong user or password
  "3D", // no such database
  "57P03", // starting up or shutting down
  "53300", // too many connections
];

/** True when no connection could be made: the server does not answer, or does not let us in. */
export const isUnreachable = (error: unknown): error is Error =>
  isConnectionFailure(error) ||
  (error instanceof postgres.PostgresError &&
    REFUSED_STATES.some((state) => error.code.startsWith(state)));

/** True when the server says that the role may not do what was asked. */
export const isForbidden = (error: unknown): error is Error =>
  error instanceof postgres.PostgresError && error.code === "42501";

/** SQLSTATE classes and codes that pass by themselves (Postgres documentation, appendix A). */
const PASSING_STATES: readonly string[] = [
  "08", // connection exception
  "40001", // serialization failure
  "40P01", // deadlock detected
  "53", // insufficient resources: too many connections, disk full, out of memory
  "55P03", // lock not available
  "57P01", // terminated by the administrator
  "57P02", // crash of another backend
  "57P03", // starting up or shutting down
  "57P05", // idle session timeout
  "25P03", // idle in transaction session timeout
  "25006", // read-only: after a fail-over, the address may lead to a standby for a while
  "57014", // statement timeout
  "58", // system error outside Postgres, such as I/O
];

/** Codes of postgres.js and of the operating system for connections that failed. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/**
 * What to do about an error that came out of the database layer: the remedy it names itself, `retry`
 * for what passes (a dropped connection, a deadlock, a full disk), else `stop`. The errors drizzle
 * wraps around the driver's are looked through.
 */
export const databaseRemedy = (error: unknown): Remedy => {
  // Five layers are more than any wrapper adds; a circular cause must not hang us.
  let layer = error;
  for (let depth = 0; depth < 5 && layer instanceof Error; depth += 1) {
    if ("remedy" in layer) return remedyOf(layer);
    if (passes(layer)) return "retry";
    layer = layer.cause;
  }
  return "stop";
};

/** Asking our own database is free, and everything waits for it. */
const DATABASE_MOST_MS = 5_000;

/** Longest pause after an error, milliseconds: bounded where it is our own database that failed. */
const databaseMostMs = (error: unknown): number => {
  let layer = error;
  for (let depth = 0; depth < 5 && layer instanceof Error; depth += 1) {
    if (OWN_ERRORS.some((own) => layer instanceof own)) return DATABASE_MOST_MS;
    // Another room's error that names a remedy, such as a source's, whatever caused it.
    if ("remedy" in layer) break;
    if (layer instanceof postgres.PostgresError || passes(layer)) return DATABASE_MOST_MS;
    layer = layer.cause;
  }
  return Number.POSITIVE_INFINITY;
};

const OWN_ERRORS = [
  SessionLostError,
  ServerSilentError,
  DatabaseUnavailableError,
  DatabaseBusyError,
] as const;

/** For `retrying`, wherever our own database may fail: after a long outage work goes on within seconds. */
export const databaseRetries = { remedy: databaseRemedy, mostMs: databaseMostMs } as const;

const passes = (error: Error): boolean =>
  error instanceof postgres.PostgresError
    ? PASSING_STATES.some((state) => error.code.startsWith(state))
    : isConnectionFailure(error);

/** True when a row that the transaction wants was changed since its snapshot was taken. */
export const isSerializationFailure = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "40001";

/** True when the connection itself failed, not a statement on it. */
export const isConnectionFailure = (error: unknown): boolean =>
  error instanceof Error &&
  !(error instanceof postgres.PostgresError) &&
  "code" in error &&
  typeof error.code === "string" &&
  PASSING_CODES.has(error.code);
