import { type FileHandle, open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { clusterIn, PRIVATE } from "./postgres-cluster.ts";
import {
  EmbeddedPostgresError,
  type Postgres,
  programOf,
  runPostgres,
} from "./postgres-process.ts";

/** For start, crash recovery included, and stop. */
const DEADLINE_MS = 60_000;

/** A restart after a crash may replay gigabytes of journal. */
const RECOVERY_MS = 5 * 60_000;

/** Polling interval for a server that is not our child. */
const LOOK_MS = 1_000;

/** A server that accepts connections. */
export type RunningServer = {
  readonly pid: number;
  /** On loopback. */
  readonly port: number;
  readonly ended: Promise<void>;
};

/** Defaults for a machine that does other work too. */
const SETTINGS = [
  // Loopback only; a socket file's path could be too long.
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  // A backfill touches more than the default 128 MB.
  "shared_buffers=256MB",
  // Fewer journal checkpoints during a backfill.
  "max_wal_size=4GB",
  // Queries are short and indexed: compiling costs more than running.
  "jit=off",
  // Two lines every five minutes would fill the log file.
  "log_checkpoints=off",
];

/** A longer log is set aside at the next start, in place of the one before. */
const LONGEST_LOG = 8 * 1024 * 1024;

const openLog = async (path: string): Promise<FileHandle> => {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > LONGEST_LOG) await rename(path, `${path}.1`);
  return await open(path, "a", PRIVATE);
};

export type Launch = {
  readonly dataDir: string;
  /** On loopback. */
  readonly port: number;
  /** Restart after a crash: allow time for recovery. */
  readonly again?: boolean;
  readonly signal?: AbortSignal;
};

/**
 * Starts a server on the cluster. If another process started one first, returns that one as
 * `joined`.
 * @throws EmbeddedPostgresError when it is not ready in time; it is stopped
 */
export const launchServer = async (
  postgres: Postgres,
  { dataDir, port, again = false, signal }: Launch,
): Promise<RunningServer & { readonly joined: boolean }> => {
  const cluster = clusterIn(dataDir);
  const log = await openLog(join(dataDir, "postgres.log"));
  try {
    const server = runPostgres(postgres, "postgres", {
      arguments: ["-D", cluster, "-p", String(port), ...SETTINGS.flatMap((s) => ["-c", s])],
      output: log.fd,
    });
    let running = true;
    const ended = new Promise<void>((done) => {
      const end = () => {
        running = false;
        done();
      };
      server.once("exit", end);
      // The program could not be run.
      server.once("error", end);
    });
    const { pid: launched } = server;
    if (launched === undefined) {
      throw new EmbeddedPostgresError("the Postgres binary could not be run");
    }
    try {
      const ready = await readyServer(dataDir, {
        running: () => running,
        withinMs: again ? RECOVERY_MS : DEADLINE_MS,
        ...(signal && { signal }),
      });
      server.unref();
      const joined = ready.pid !== launched;
      return { ...ready, joined, ended: joined ? endOf(ready.pid) : ended };
    } catch (error) {
      // Left running, it would block the next start.
      if (running) await stopServer(launched);
      throw error;
    }
  } finally {
    await log.close();
  }
};

/**
 * The server in `postmaster.pid`: `alive`, or `foreign` when the pid belongs to another program.
 */
export const runningServer = async (dataDir: string) => {
  const lock = await readLock(dataDir);
  if (lock === undefined) return undefined;
  const program = await programOf(lock.pid);
  if (program === undefined) return undefined;
  return program.command.includes("postgres")
    ? { state: "alive" as const, pid: lock.pid, parent: program.parent }
    : { state: "foreign" as const, pid: lock.pid };
};

/** Lines of `postmaster.pid`: 1 pid, 4 port, 8 status. */
const readLock = async (dataDir: string) => {
  const path = join(clusterIn(dataDir), "postmaster.pid");
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" };
};

/**
 * Waits until the data folder's server, also another process's, accepts connections.
 * @throws EmbeddedPostgresError when none runs, or it is not ready within `withinMs`
 * @throws the signal's reason when it aborts
 */
export const readyServer = async (
  dataDir: string,
  {
    running = () => false,
    withinMs = DEADLINE_MS,
    signal,
  }: {
    readonly running?: () => boolean;
    readonly withinMs?: number;
    readonly signal?: AbortSignal;
  } = {},
): Promise<Omit<RunningServer, "ended">> => {
  const deadline = Date.now() + withinMs;
  const see = `see ${join(dataDir, "postgres.log")}`;
  for (;;) {
    signal?.throwIfAborted();
    const lock = await readLock(dataDir);
    // A crash leaves a lock that says "ready".
    const alive = lock && (await programOf(lock.pid))?.command.includes("postgres");
    if (lock?.ready && alive) return { pid: lock.pid, port: lock.port };
    if (!running() && !alive) {
      throw new EmbeddedPostgresError(`Postgres ended while starting; ${see}`);
    }
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(`Postgres was not ready after ${withinMs / 1000} s; ${see}`);
    }
    await delay(20);
  }
};

/** Resolves when a process that is not our child is gone. */
export const endOf = async (pid: number): Promise<void> => {
  while (tell(pid, 0)) await delay(LOOK_MS, undefined, { ref: false });
};

/** Fast shutdown: rolls back open transactions, flushes the journal. */
export const stopServer = async (pid: number): Promise<void> => {
  const deadline = Date.now() + DEADLINE_MS;
  if (!tell(pid, "SIGINT")) return;
  while (tell(pid, 0)) {
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Postgres (pid ${pid}) did not stop within ${DEADLINE_MS / 1000} s`,
      );
    }
    await delay(20);
  }
};

/** Sends a signal; false when the process is gone. */
const tell = (pid: number, name: NodeJS.Signals | 0) => {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
};
