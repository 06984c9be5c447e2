import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { clusterIn, createClusterOnce } from "../src/database/embedded/postgres-cluster.ts";
import { preparePostgres, runPostgres } from "../src/database/embedded/postgres-process.ts";
import { readyServer, stopServer } from "../src/database/embedded/postgres-server.ts";

/**
 * A server of any version, from the folder of its programs, with the settings it ships with: only what a
 * throw-away server need not do is switched off. `pid` is its postmaster's.
 * @param onPort where one that was stopped comes back; any free one unless given
 */
export const startShippedPostgres = async (programs: string, dataDir: string, onPort?: number) => {
  await mkdir(dataDir, { recursive: true });
  const postgres = await preparePostgres(dataDir, programs);
  const password = await createClusterOnce(postgres, dataDir);
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    // No test survives the machine, so nothing need reach the disk.
    "fsync=off",
    "full_page_writes=off",
    // It serves several whole deployments at a time.
    "max_connections=400",
  ];
  const child = runPostgres(postgres, "postgres", {
    arguments: [
      ...["-D", clusterIn(dataDir), "-p", `${onPort ?? (await freePort())}`],
      ...settings.flatMap((setting) => ["-c", setting]),
    ],
    output: "pipe",
  });
  // Its log, which nobody reads, must not fill the pipe.
  child.stdout?.resume();
  child.stderr?.resume();
  child.unref();
  const { pid, port } = await readyServer(dataDir, { running: () => child.exitCode === null });
  return {
    url: `postgres://holderbook:${password}@127.0.0.1:${port}/postgres`,
    pid,
    stop: () => stopServer(pid),
  };
};

/** A port that was free a moment ago. */
export const freePort = () =>
  new Promise<number>((done, fail) => {
    const probe = createServer();
    probe.once("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
