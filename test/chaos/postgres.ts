/** The Postgres of a run: the oldest supported version where Debian's is installed, with the settings it ships with. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { postgresPrograms } from "../../src/database/embedded/postgres-process.ts";
import { smallDisk } from "../database/small-disk.ts";
import { freePort } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { isRunning } from "../service/processes.ts";
import { startShippedPostgres } from "../shipped-postgres.ts";

const DEBIAN = "/usr/lib/postgresql/15/bin";

export type ChaosPostgres = Awaited<ReturnType<typeof startPostgres>>;

/** Of the disk that is filled; a run needs far less. */
const DISK_MIB = 4_096;

/** A server that can be stopped at once and started again at the same address, on a disk of its own where possible. */
export const startPostgres = async (path: string) => {
  const disk = await smallDisk(path, DISK_MIB);
  const dataDir = join(path, "data");
  const programs = existsSync(DEBIAN) ? DEBIAN : postgresPrograms();
  const port = await freePort();
  const start = () => startShippedPostgres(programs, dataDir, port);
  let server = await start();
  return {
    /** Undefined where none can be mounted. */
    disk,
    url: server.url,
    pid: () => server.pid,
    /** `pg_ctl stop -m immediate`: no checkpoint, and recovery at the next start. */
    stopImmediately: async () => {
      const { pid } = server;
      if (isRunning(pid)) process.kill(pid, "SIGQUIT");
      await until(
        "the end of Postgres",
        () => isRunning(pid),
        (running) => !running,
      );
    },
    start: async () => {
      server = await start();
    },
    isRunning: () => isRunning(server.pid),
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      disk?.[Symbol.dispose]();
    },
  };
};
