/** How every connection to Postgres is made: those of the pool, of sessions and of readers. */
import { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import postgres from "postgres";
import { errorOf } from "../waiting/remedy.ts";
import { type SilenceRule, watchForSilence } from "./silence.ts";
import { CONNECT_TIMEOUT_SECONDS, KEEP_ALIVE_SECONDS, openSocket, type Target } from "./socket.ts";
import { isStillWorking } from "./still-working.ts";

/** How JavaScript sees the types of Postgres that postgres.js leaves as text. */
export type Types = { bigint: bigint };

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
  /**
   * The server is asked about a statement that has moved no byte for so long, milliseconds; 15 s unless
   * given. Where statements have a timeout, one that is over by five seconds is lost without asking.
   */
  readonly silenceMs?: number | undefined;
};

/**
 * Longest pause before a lost connection is tried again. A statement in the meantime waits for it,
 * and with the driver's default up to 20 s to learn that the server does not answer.
 */
const RECONNECT_SECONDS = 1;

/** A writer that hangs inside a transaction must not hold its locks for ever. */
const IDLE_IN_TRANSACTION_MS = 60_000;

const SILENCE_MS = 15_000;

/**
 * Beyond the server's own timeout: a connection without an answer by then will never give one.
 * The driver is known to lose statements that are sent while a connection ends.
 */
export const LOST_AFTER_MS = 5_000;

/** Longest wait for pending answers when a client ends. */
const CLOSE_MS = 5_000;

/** Options of postgres.js that every connection of ours has, and `end` for the clients that are made with them. */
export const connectionOptions = (settings: ConnectionSettings) => ({
  connect_timeout: CONNECT_TIMEOUT_SECONDS,
  keep_alive: KEEP_ALIVE_SECONDS,
  backoff: (retries: number) => Math.min(RECONNECT_SECONDS, 3 ** retries / 100),
  ...sockets(settings),
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
    // Whatever the role or the database has: any role may set its own, and the service's makes tables in other schemas.
    search_path: "public",
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

/**
 * Sockets of our own making. The driver's would be TLS behind our back, where it cannot be seen whether an
 * answer is due; and with several hosts a statement would never hear that none of them answers.
 */
const sockets = (settings: ConnectionSettings) => {
  // What the driver reads in the connection string; this client never connects.
  const { options } = postgres(settings.url, { max: 1 });
  const { host, port, path, ssl, sslnegotiation } = { sslnegotiation: null, ...options };
  const target = { host, port, path, ssl, sslnegotiation };
  const open = new Set<ReturnType<typeof watchForSilence>>();
  let from = 0;
  const socket = async (): Promise<Socket> => {
    const opened = await openSocket(target, from).catch(errorOf);
    if (opened instanceof Error) return failingSocket(opened);
    const { socket: made, index } = opened;
    // The driver hangs up on a host that is not of the kind that was asked for: the next one is next.
    from = options.target_session_attrs ? index + 1 : index;
    // Of several hosts only this one knows what became of its statements.
    const at = {
      ...target,
      host: host.slice(index, index + 1),
      port: port.slice(index, index + 1),
    };
    const watched = watchForSilence(made, silenceRule(settings, at));
    open.add(watched);
    made.once("close", () => open.delete(watched));
    // The driver's errors name them, as of a socket of its own.
    return Object.assign(made, { host: host[index], port: port[index] });
  };
  /**
   * Waits up to 5 s for pending answers, then ends the client's connections. The driver's own `end` also waits for
   * connections that were lost during a statement, which never answer.
   */
  const end = async (client: Pick<postgres.Sql<Types>, "end">): Promise<void> => {
    const untilMs = performance.now() + CLOSE_MS;
    const isDue = () => [...open].some(({ isOwed }) => isOwed);
    while (isDue() && performance.now() < untilMs) await wait(LOOK_MS);
    await client.end({ timeout: 0 });
    while (open.size > 0 && performance.now() < untilMs) await wait(LOOK_MS);
  };
  return { ssl: false, host: host[0] ?? "localhost", port: port[0] ?? 5432, socket, end };
};

/** Pause between two looks at pending answers. */
const LOOK_MS = 5;

/**
 * A socket that fails once the driver has greeted it. Where no socket is given it the driver fails the
 * statement, and never uses that place in its pool again; one that fails before keeps the greeting, and sends
 * it a second time on the next one.
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
