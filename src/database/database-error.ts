import postgres from "postgres";
import { type Remedy, remedyOf } from "../waiting/remedy.ts";

/** The connection of a transaction or lock is gone, uncommitted work with it. Retry. */
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
 * A failed statement was ignored inside a transaction, so its commit became a rollback: a bug.
 * Stop.
 */
export class TransactionRolledBackError extends Error {
  override readonly name = "TransactionRolledBackError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("a failed statement was ignored inside a transaction, so Postgres rolled it back");
  }
}

/** A connection does not answer, or none is available. Retry. */
export class DatabaseUnavailableError extends Error {
  override readonly name = "DatabaseUnavailableError";
  readonly remedy: Remedy = "retry";
}

/**
 * A connection with an open statement moved no byte: the server is frozen, gone or cut off. Retry.
 */
export class ServerSilentError extends Error {
  override readonly name = "ServerSilentError";
  readonly remedy: Remedy = "retry";
  /** Recognised by `isConnectionFailure`. */
  readonly code = "ETIMEDOUT";

  constructor(silentMs: number) {
    super(`the database has not answered an open statement for ${Math.round(silentMs / 1000)} s`);
  }
}

/** A replica does not answer, or is none any more; others and the primary do. Retry. */
export class ReplicaLeftError extends Error {
  override readonly name = "ReplicaLeftError";
  readonly remedy: Remedy = "retry";
  readonly reason: string;

  constructor(number: number, reason: string, cause?: unknown) {
    super(`replica ${number} ${reason}`, { cause });
    this.reason = reason;
  }
}

/** No host of the database takes writes: none runs, or no standby was promoted yet. Retry. */
export class NoPrimaryError extends Error {
  override readonly name = "NoPrimaryError";
  readonly remedy: Remedy = "retry";
  /** Recognised by `isConnectionFailure`. */
  readonly code = "ECONNREFUSED";

  constructor(refusals: readonly string[]) {
    super(`no host of the database takes writes: ${refusals.join("; ")}`);
  }
}

/** The connection led to a host that is the primary no more: a standby was promoted. Retry. */
export class FormerPrimaryError extends Error {
  override readonly name = "FormerPrimaryError";
  readonly remedy: Remedy = "retry";
  /** Recognised by `isConnectionFailure`. */
  readonly code = "ECONNRESET";

  constructor(promoted: string) {
    super(`the database's host ${promoted} was promoted and takes the place of the former primary`);
  }
}

/** No connection became free in time: the database is overloaded. Retry. */
export class DatabaseBusyError extends Error {
  override readonly name = "DatabaseBusyError";
  readonly remedy: Remedy = "retry";

  constructor(waitedMs: number) {
    super(`no database connection became free within ${waitedMs} ms`);
  }
}

/** No connection at startup. Start the server, or correct the setting named. */
export class DatabaseUnreachableError extends Error {
  override readonly name = "DatabaseUnreachableError";
  readonly remedy: Remedy = "stop";

  constructor(reason: Error, setting = "DATABASE_URL") {
    // No `cause`: the message already holds the driver's text.
    super(`${reason.message}; check ${setting}, and that its server runs and accepts connections`);
  }
}

/** SQLSTATE classes of a refused connection. */
const REFUSED_STATES: readonly string[] = [
  "28", // wrong user or password
  "3D", // no such database
  "57P03", // starting up or shutting down
  "53300", // too many connections
];

/** True when the server does not answer, or refuses the connection. */
export const isUnreachable = (error: unknown): error is Error =>
  isConnectionFailure(error) ||
  (error instanceof postgres.PostgresError &&
    REFUSED_STATES.some((state) => error.code.startsWith(state)));

/** True when the role lacks a privilege. */
export const isForbidden = (error: unknown): error is Error =>
  error instanceof postgres.PostgresError && error.code === "42501";

/** Transient SQLSTATE classes and codes (Postgres documentation, appendix A). */
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

/** Codes of failed connections, from postgres.js and the operating system. */
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
 * Remedy of an error from the database layer: its own, `retry` for transient failures (lost
 * connection, deadlock, full disk), else `stop`. Looks through drizzle's wrappers.
 */
export const databaseRemedy = (error: unknown): Remedy => {
  for (const layer of layersOf(error)) {
    if ("remedy" in layer) return remedyOf(layer);
    if (passes(layer)) return "retry";
  }
  return "stop";
};

/** An error and its causes; bounded, in case of a circular one. */
function* layersOf(error: unknown): Generator<Error, void, undefined> {
  let layer = error;
  for (let depth = 0; depth < 5 && layer instanceof Error; depth += 1) {
    yield layer;
    layer = layer.cause;
  }
}

/** Short, because everything waits for the database. */
const DATABASE_MOST_MS = 5_000;

/** Maximum delay in ms after an error: bounded for our own database. */
const databaseMostMs = (error: unknown): number => {
  for (const layer of layersOf(error)) {
    if (OWN_ERRORS.some((own) => layer instanceof own)) return DATABASE_MOST_MS;
    // An error of another room, whatever its cause.
    if ("remedy" in layer) break;
    if (layer instanceof postgres.PostgresError || passes(layer)) return DATABASE_MOST_MS;
  }
  return Number.POSITIVE_INFINITY;
};

/** True for a transient failure of the database, whatever wraps it; false for errors of other rooms. */
export const isDatabaseTrouble = (error: unknown): boolean =>
  databaseRemedy(error) === "retry" && databaseMostMs(error) === DATABASE_MOST_MS;

const OWN_ERRORS = [
  SessionLostError,
  ServerSilentError,
  NoPrimaryError,
  FormerPrimaryError,
  DatabaseUnavailableError,
  DatabaseBusyError,
  ReplicaLeftError,
] as const;

/** For `retrying` around database work: resumes within seconds after an outage. */
export const databaseRetries = { remedy: databaseRemedy, mostMs: databaseMostMs } as const;

const passes = (error: Error): boolean =>
  error instanceof postgres.PostgresError
    ? PASSING_STATES.some((state) => error.code.startsWith(state)) || endsConnection(error)
    : isConnectionFailure(error);

/** An internal error that ended a connection alone, such as a new one's that cannot write its cache to a full disk. */
const endsConnection = ({ code, severity }: postgres.PostgresError): boolean =>
  code === "XX000" && severity === "FATAL";

/** True when Postgres cancelled a statement in favour of another transaction, on a replica of its recovery. */
export const isCancelledForOthers = (error: unknown): boolean => hasState(error, "40001", "40P01");

/** True when a request that only reads succeeds if it begins again at once. */
export const mayBeginAgain = (error: unknown): boolean =>
  isCancelledForOthers(error) || layersOf(error).some((layer) => layer instanceof ReplicaLeftError);

/** True when a statement took too long (`query_canceled`). */
export const isStatementTimeout = (error: unknown): boolean => hasState(error, "57014");

const hasState = (error: unknown, ...states: readonly string[]): boolean =>
  layersOf(error).some((layer) => "code" in layer && states.includes(String(layer.code)));

/** True when a row changed since the transaction's snapshot. */
export const isSerializationFailure = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "40001";

/** True when the connection failed, not a statement. */
export const isConnectionFailure = (error: unknown): boolean =>
  error instanceof Error &&
  !(error instanceof postgres.PostgresError) &&
  "code" in error &&
  typeof error.code === "string" &&
  PASSING_CODES.has(error.code);
