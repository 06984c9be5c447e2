/** A primary and its streaming standbys: real servers, with the settings that Postgres ships with. */
import { execFile } from "node:child_process";
import { chown, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect, type Database } from "../src/database/connect.ts";
import { clusterIn } from "../src/database/embedded/postgres-cluster.ts";
import { postgresPrograms } from "../src/database/embedded/postgres-process.ts";
import { endOf } from "../src/database/embedded/postgres-server.ts";
import { until } from "./lanes/until.ts";
import { inServer } from "./postgres-setup.ts";
import { isRunning, signalAll } from "./service/processes.ts";
import { startShippedPostgres } from "./shipped-postgres.ts";

/** A server that can be stopped and started again at its port. */
export type ReplicatedServer = {
  /** Its database `postgres`, as the superuser `holderbook`. */
  readonly url: string;
  readonly port: number;
  /** Runs one statement in `postgres`. */
  run(statement: string): Promise<void>;
  /** Fast shutdown. */
  stop(): Promise<void>;
  /** SIGKILL of its postmaster, as when the machine is lost; returns when the process is gone. */
  kill(): Promise<void>;
  /** SIGSTOP of all its processes: its kernel accepts connections, and nothing is answered or closed. */
  freeze(): Promise<void>;
  /** After `freeze`. */
  thaw(): Promise<void>;
  /** After `stop` or `kill`. */
  start(): Promise<void>;
};

export type Standby = ReplicatedServer & {
  /** It keeps receiving and shows nothing of it. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Makes it a primary, on a timeline of its own; returns when it takes writes. */
  promote(): Promise<void>;
  /** Waits until it shows everything that the primary has committed so far. */
  caughtUp(): Promise<void>;
};

/** Ends with its standbys. */
export type Primary = ReplicatedServer &
  AsyncDisposable & {
    /** Starts a standby from a copy of the running primary. `name` is its `application_name` there. */
    standby(name: string): Promise<Standby>;
  };

const run = promisify(execFile);

/** Starts a primary without standbys: `await using primary = await startPrimary()`. Takes some two seconds. */
export const startPrimary = async (): Promise<Primary> => {
  const folder = join(tmpdir(), `replicated-${process.pid}-${performance.now()}`);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const primaryDir = join(folder, "primary");
  const server = await startServer(primaryDir);
  ends.defer(server.stop);
  // A standby that was stopped for a while finds everything it missed.
  await server.run("alter system set wal_keep_size = '512MB'");
  await server.run("select pg_reload_conf()");
  const all = ends.move();
  return {
    ...server,
    standby: async (name) => {
      const dataDir = join(folder, name);
      await copyRunning(server.url, primaryDir, dataDir, name);
      const standby = await startServer(dataDir);
      all.defer(standby.stop);
      return {
        ...standby,
        pauseReplay: async () => {
          await standby.run("select pg_wal_replay_pause()");
          await seenIn(
            standby.url,
            "replay paused",
            (sql) => sql`select pg_get_wal_replay_pause_state() = 'paused' as is`,
          );
        },
        resumeReplay: () => standby.run("select pg_wal_replay_resume()"),
        promote: () => standby.run("select pg_promote(true, 60)"),
        caughtUp: async () => {
          await using primary = connect({ url: server.url, max: 1, applicationName: "test" });
          const [at] = await primary.sql<
            { lsn: string }[]
          >`select pg_current_wal_lsn()::text as lsn`;
          const lsn = at?.lsn ?? "";
          await seenIn(
            standby.url,
            `replay up to ${lsn}`,
            (sql) => sql`select pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn as is`,
          );
        },
      };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

const startServer = async (dataDir: string): Promise<ReplicatedServer> => {
  const programs = process.env.POSTGRES_PROGRAMS ?? postgresPrograms();
  let running = await startShippedPostgres(programs, dataDir);
  const { url } = running;
  const port = Number(new URL(url).port);
  return {
    url,
    port,
    run: (statement) => inServer(url, (sql) => sql.unsafe(statement)),
    stop: async () => {
      // A frozen one would not stop.
      if (isRunning(running.pid)) await signalAll(running.pid, "SIGCONT");
      await running.stop();
    },
    freeze: () => signalAll(running.pid, "SIGSTOP"),
    thaw: () => signalAll(running.pid, "SIGCONT"),
    kill: async () => {
      process.kill(running.pid, "SIGKILL");
      await endOf(running.pid);
    },
    start: async () => {
      running = await startShippedPostgres(programs, dataDir, port);
    },
  };
};

/** What `pg_basebackup` does, which the embedded Postgres comes without. */
const copyRunning = async (url: string, from: string, to: string, name: string) => {
  const [source, target] = [clusterIn(from), clusterIn(to)];
  await mkdir(to, { recursive: true });
  await using database = connect({ url, max: 1, applicationName: "backup" });
  // Start and stop belong to one session.
  await using session = await database.session();
  await session.sql`select pg_backup_start(${name}, true)`;
  await run("cp", ["-a", source, target]).catch((error: { stderr?: string }) => {
    // Files may go meanwhile; the journal knows.
    const lines = error.stderr?.trim().split("\n") ?? [""];
    if (!lines.every((line) => line.includes("No such file"))) throw error;
  });
  const [label] = await session.sql<{ labelfile: string }[]>`
    select labelfile from pg_backup_stop(false)`;
  const { hostname, port, username, password } = new URL(url);
  const primary = `host=${hostname} port=${port} user=${username} password=${password} application_name=${name}`;
  await rm(join(target, "postmaster.pid"), { force: true });
  const files = {
    backup_label: label?.labelfile ?? "",
    "standby.signal": "",
    "postgresql.auto.conf": `primary_conninfo = '${primary}'\n`,
  };
  const { uid, gid } = await stat(source);
  for (const [file, content] of Object.entries(files)) {
    await writeFile(join(target, file), content);
    await chown(join(target, file), uid, gid);
  }
};

const seenIn = async (
  url: string,
  what: string,
  statement: (sql: Database["sql"]) => PromiseLike<readonly { is: boolean | null }[]>,
) => {
  await using database = connect({ url, max: 1, applicationName: "test" });
  await until(what, async () => (await statement(database.sql))[0]?.is === true, Boolean);
};
