/** Starts what is measured. It ends with its scope, or when the measurement is interrupted. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type Database } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";

export const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));

/** Usually a second or two; longer on a busy machine. */
const START_MS = 120_000;

/** Ends of what is open: an interrupted measurement leaves no server and no gigabytes behind. */
const ends = new Set<() => Promise<void>>();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    for (const end of [...ends].reverse()) await end().catch(() => undefined);
    process.exit(1);
  });
}

const ending = (how: () => Promise<unknown>): AsyncDisposable => {
  const end = async () => {
    if (ends.delete(end)) await how();
  };
  ends.add(end);
  return { [Symbol.asyncDispose]: end };
};

const scratchFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  return { path, ...ending(() => rm(path, { recursive: true, force: true })) };
};

export type Scratch = AsyncDisposable & {
  readonly database: Database;
  readonly folder: string;
  readonly url: string;
  /** The server's; its backends are its children. */
  readonly pid: number;
};

/** An embedded, migrated Postgres in a folder of its own. */
export const scratchPostgres = async (): Promise<Scratch> => {
  await using opening = new AsyncDisposableStack();
  const { path: folder } = opening.use(await scratchFolder());
  const { url, stop } = await startEmbeddedPostgres({ dataDir: folder });
  opening.use(ending(stop));
  const database = opening.use(connect({ url, max: 8, applicationName: "bench" }));
  await migrate(database);
  // The first line of its lock file.
  const lock = await readFile(join(folder, "postgres", "postmaster.pid"), "utf8");
  const opened = opening.move();
  const end = () => opened.disposeAsync();
  return { database, folder, url, pid: Number.parseInt(lock, 10), [Symbol.asyncDispose]: end };
};

export type Program = AsyncDisposable & {
  readonly pid: number;
  /** The match. */
  readonly shown: RegExpExecArray;
  /** Everything it prints. */
  readonly logFile: string;
};

/** Runs Node with these arguments. Resolves once the program prints what matches. */
export const startProgram = async (
  args: readonly string[],
  settings: {
    /** Created if missing. */
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly shows: RegExp;
  },
): Promise<Program> => {
  const { cwd, env, shows } = settings;
  await mkdir(cwd, { recursive: true });
  const logFile = join(cwd, "log");
  const log = await open(logFile, "a");
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", log.fd, log.fd],
  });
  await log.close();
  const ended = once(child, "exit");
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  const program = ending(async () => {
    process.off("exit", kill);
    if (child.exitCode === null && kill()) await ended;
  });
  for (const deadline = Date.now() + START_MS; ; await delay(20)) {
    const printed = await readFile(logFile, "utf8");
    const shown = shows.exec(printed);
    if (shown !== null && child.pid !== undefined) {
      return { pid: child.pid, shown, logFile, ...program };
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      await program[Symbol.asyncDispose]();
      throw new Error(`${args.join(" ")} does not start; it printed: ${printed}`);
    }
  }
};

export type RunningHolderbook = AsyncDisposable & {
  readonly dataDir: string;
  readonly port: number;
  readonly key: string;
  /** Creates another key; `options` as for `keys create`. */
  createKey(...options: readonly string[]): Promise<string>;
};

/** `start` as a user runs it, with a Postgres of its own. @param settings more environment */
export const startHolderbook = async (
  settings: Readonly<Record<string, string>>,
): Promise<RunningHolderbook> => {
  await using opening = new AsyncDisposableStack();
  // In it no local .env is read.
  const { path: cwd } = opening.use(await scratchFolder());
  const dataDir = join(cwd, "data");
  const env = { PORT: "0", DATA_DIR: dataDir, LOG_LEVEL: "info", ...settings };
  const shows = /^ {2}GraphQL\s+http:\/\/[^:]+:(\d+)[\s\S]+^ {2}Key\s+(\S+)$/m;
  const program = opening.use(await startProgram([LAUNCHER, "start"], { cwd, env, shows }));
  const [, port, key = ""] = program.shown;
  const opened = opening.move();
  return {
    dataDir,
    port: Number(port),
    key,
    createKey: async (...options) => {
      const create = [LAUNCHER, "keys", "create", ...options];
      const { stdout } = await promisify(execFile)(process.execPath, create, {
        cwd,
        env: { PATH: process.env.PATH, ...env },
      });
      return stdout.trim();
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
};
