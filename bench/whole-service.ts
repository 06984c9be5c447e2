/** The service as a user starts it, in a scratch folder, observed from outside. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type Database } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import { postmasterIn } from "./scratch-postgres.ts";

const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));

/** Usually a second or two; longer on a busy machine. */
const DEADLINE_MS = 120_000;

export type StartedService = AsyncDisposable & {
  /** The launcher's. */
  readonly pid: number;
  /** The embedded server's. */
  readonly postgresPid: number;
  readonly dataDir: string;
  readonly port: number;
  readonly key: string;
  /** In the order of `start`'s output. */
  readonly coinTypes: readonly string[];
  /** The service's database, bypassing the serving process. */
  readonly database: Database;
  /** Creates another key; `options` as for `keys create`. */
  createKey(...options: readonly string[]): Promise<string>;
  log(): Promise<string>;
};

/**
 * Resolves once requests are answered. The service ends with this process.
 * @param settings environment beside the folder's and the port
 */
export const startWhole = async (
  settings: Readonly<Record<string, string>>,
): Promise<StartedService> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  // A separate folder, so that no local .env is read.
  const cwd = join(folder, "service");
  const dataDir = join(cwd, "data");
  await mkdir(dataDir, { recursive: true });
  const logFile = join(cwd, "log");
  const log = await open(logFile, "a");
  const env = {
    PATH: process.env.PATH,
    PORT: "0",
    DATA_DIR: dataDir,
    LOG_LEVEL: "info",
    ...settings,
  };
  const child = spawn(process.execPath, [LAUNCHER, "start"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", log.fd],
  });
  await log.close();
  const end = endOf(child, folder);
  const readLog = () => readFile(logFile, "utf8");
  try {
    const { pid } = child;
    const shown = await welcomed(child);
    if (shown === undefined || pid === undefined) {
      throw new Error(`the service does not answer; its log: ${await readLog()}`);
    }
    // Already running: this joins it.
    const { url } = await startEmbeddedPostgres({ dataDir });
    const database = connect({ url, max: 1, applicationName: "bench" });
    return {
      pid,
      postgresPid: await postmasterIn(dataDir),
      dataDir,
      ...shown,
      database,
      createKey: async (...options) => {
        const create = [LAUNCHER, "keys", "create", ...options];
        const { stdout } = await promisify(execFile)(process.execPath, create, { cwd, env });
        return stdout.trim();
      },
      log: readLog,
      [Symbol.asyncDispose]: async () => {
        await database.close();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
};

/** Ends the process and removes its folder, also on interruption. */
const endOf = (child: ChildProcess, folder: string) => {
  const ended = once(child, "exit");
  const end = async () => {
    process.off("SIGINT", breakOff).off("SIGTERM", breakOff).off("exit", kill);
    if (child.exitCode === null && child.kill("SIGTERM")) await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const kill = () => child.kill("SIGTERM");
  const breakOff = () => void end().finally(() => process.exit(1));
  process.once("SIGINT", breakOff).once("SIGTERM", breakOff).once("exit", kill);
  return end;
};

/** Printed port, key and coin types; undefined if absent. */
const welcomed = async (child: ChildProcess) => {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const deadline = Date.now() + DEADLINE_MS;
  while (child.exitCode === null && Date.now() < deadline) {
    const [, port] = /^ {2}GraphQL\s+http:\/\/[^:]+:(\d+)/m.exec(text) ?? [];
    const [, key] = /^ {2}Key\s+(\S+)$/m.exec(text) ?? [];
    const [, coins = ""] = /^ {2}Tokens\s+([\s\S]*?)\n\n/m.exec(text) ?? [];
    const coinTypes = coins.split(/\n\s+/).filter(Boolean);
    if (port !== undefined && key !== undefined && coinTypes.length > 0) {
      return { port: Number(port), key, coinTypes };
    }
    await delay(50);
  }
  return undefined;
};
