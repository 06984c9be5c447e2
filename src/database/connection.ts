/** Options of every connection: pool, sessions and readers. */
import { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type postgres from "postgres";
import { errorOf } from "../waiting/remedy.ts";
import { closeAfterWrites } from "./closing-socket.ts";
import { primaryOf } from "./primary.ts";
import { isStillWorking, type SilenceRule, watchForSilence } from "./silence.ts";
import {
  CONNECT_TIMEOUT_SECONDS,
  KEEP_ALIVE_SECONDS,
  openSocket,
  type Target,
  targetOf,
} from "./socket.ts";

/** Postgres types that postgres.js would return as text. */
export type Types = { bigint: bigint };

export type ConnectionSettings = {
  /** `postgres://user:password@host:port/database`; of several hosts, the one that takes writes is used. */
  readonly url: string;
  /** Shown by `pg_stat_activity`. */
  readonly applicationName: string;
  /** Cancels longer statements; no limit when absent. */
  readonly statementTimeoutMs?: number | undefined;
  readonly readOnly?: boolean | undefined;
  /**
   * `off`: commits return before they reach the disk. A server crash may lose the newest, whole and
   * in order; fine for what replays from the log.
   */
  readonly synchronousCommit?: "on" | "off" | undefined;
  /** Further Postgres settings, by name. */
  readonly runtime?: Readonly<Record<string, string>> | undefined;
  /**
   * Silence in ms of an open statement after which the server is asked about it; 15 s by default.
   * With a statement timeout, it counts as lost 5 s after that instead.
   */
  readonly silenceMs?: number | undefined;
};

/** Maximum delay of a reconnect; the driver's default lets a statement wait up to 20 s. */
const RECONNECT_SECONDS = 1;

/** A writer that hangs inside a transaction must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 60_000;

const SILENCE_MS = 15_000;

/**
 * Added to the server's own timeout: the driver can lose a statement sent while a connection ends,
 * which is then never answered.
 */
export const LOST_AFTER_MS = 5_000;

/** Maximum wait for pending answers at close. */
const CLOSE_MS = 5_000;

/** Options of postgres.js for every connection, and `end` for clients made with them. */
export const connectionOptions = (settings: ConnectionSettings) => ({
  connect_timeout: CONNECT_TIMEOUT_SECONDS,
  keep_alive: KEEP_ALIVE_SECONDS,
  backoff: (retries: number) => Math.min(RECONNECT_SECONDS, 3 ** retries / 100),
  ...sockets(settings),
  // The driver would query array types on each connection without awaiting the answer: losing the
  // connection then would end the process. Arrays are literals here (column-arrays.ts).
  fetch_types: false,
  // The default prints notices to the console.
  onnotice: () => undefined,
  types: {
    // A number would round int8, and text compares wrongly.
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
    // Any role can set its own search_path, and the service's creates tables in other schemas.
    search_path: "public",
    // On by default before Postgres 19; disabled planner switches raise a plan's cost above its
    // threshold, and compiling a small statement costs a thousand times its execution.
    jit: "off",
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    // Locks of a vanished machine must not stay for two hours.
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

/** Own sockets: the driver's TLS hides whether an answer is due, and its choice among hosts takes a standby. */
const sockets = (settings: ConnectionSettings) => {
  const { url } = settings;
  const primary = primaryOf(url);
  const target = targetOf(url);
  const openOne = async () => ({ socket: await openSocket(target), at: target, url });
  const open = new Set<ReturnType<typeof watchForSilence>>();
  const socket = async (): Promise<Socket> => {
    const opened = await (primary?.open() ?? openOne()).catch(errorOf);
    if (opened instanceof Error) return failingSocket(opened);
    const { socket: made, at } = opened;
    closeAfterWrites(made);
    // Only this host knows its statements.
    const watched = watchForSilence(made, silenceRule({ ...settings, url: opened.url }, at));
    open.add(watched);
    made.once("close", () => open.delete(watched));
    // The driver's errors name host and port.
    return Object.assign(made, { host: at.host, port: at.port });
  };
  /** Waits up to 5 s for pending answers; the driver's `end` waits for lost connections, too. */
  const end = async (client: Pick<postgres.Sql<Types>, "end">): Promise<void> => {
    const untilMs = performance.now() + CLOSE_MS;
    const isDue = () => [...open].some(({ isOwed }) => isOwed);
    while (isDue() && performance.now() < untilMs) await wait(LOOK_MS);
    await client.end({ timeout: 0 });
    while (open.size > 0 && performance.now() < untilMs) await wait(LOOK_MS);
  };
  const { host, port } = target;
  // The driver checks what was found, in place of what the URL asks for.
  return {
    ssl: false,
    host,
    port,
    socket,
    end,
    ...(primary && { target_session_attrs: "primary" as const }),
  };
};

/** Polling interval for pending answers. */
const LOOK_MS = 5;

/**
 * A socket that fails on its first write. Failing earlier makes the driver send its greeting twice;
 * giving it no socket loses a place in its pool.
 */
const failingSocket = (error: Error): Socket => {
  const socket = new Socket();
  socket.write = () => {
    socket.destroy(error);
    return true;
  };
  return socket;
};

const silenceRule = (settings: ConnectionSettings, at: Target): SilenceRule => {
  const { statementTimeoutMs, silenceMs = SILENCE_MS } = settings;
  if (statementTimeoutMs !== undefined) return { afterMs: statementTimeoutMs + LOST_AFTER_MS };
  return { afterMs: silenceMs, isWorking: (pid) => isStillWorking(settings.url, at, pid) };
};
