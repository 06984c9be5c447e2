/** The Postgres of a run: the oldest supported version where Debian's is installed, with the settings it ships with. */
import { existsSync } from "node:fs";
import { postgresPrograms } from "../../src/database/embedded/postgres-process.ts";
import { freePort } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { isRunning } from "../service/processes.ts";
import { startShippedPostgres } from "../shipped-postgres.ts";

const DEBIAN = "/usr/lib/postgresql/15/bin";

export type ChaosPostgres = Awaited<ReturnType<typeof startPostgres>>;

/** A server that can be stopped at once and started again at the same address. */
export const startPostgres = async (dataDir: string) => {
  const programs = existsSync(DEBIAN) ? DEBIAN : postgresPrograms();
  const port = await freePort();
  const start = () => startShippedPostgres(programs, dataDir, port);
  let server = await start();
  return {
    programs,
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
    [Symbol.asyncDispose]: () => server.stop(),
  };
};
