/** The service as a user starts it, in a scratch folder, and a look at it from outside. */
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

/** Starting takes a second or two; a busy machine takes longer. */
const DEADLINE_MS = 120_000;

export type StartedService = AsyncDisposable & {
  /** Of the launcher. */
  readonly pid: number;
  /** Of the embedded server. */
  readonly postgresPid: number;
  readonly dataDir: string;
  readonly port: number;
  /** The key that `start` shows. */
  readonly key: string;
  /** Of the ledger, in the order `start` shows them. */
  readonly coinTypes: readonly string[];
  /** The service's database, for looking past whatever serves. */
  readonly database: Database;
  /** Creates one more key; what `keys create` prints with these options. */
  createKey(...options: readonly string[]): Promise<string>;
  /** What it said on standard error so far. */
  log(): Promise<string>;
};

/**
 * Resolves once requests are answered. Ending the process that measures ends the service.
 * @param settings of the environment, beside those of the folder and the port
 */
export const startWhole = async (
  settings: Readonly<Record<string, string>>,
): Promise<StartedService> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-bench-"));
  // A folder of its own: an .env of the person who measures is not read.
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
  const said = () => readFile(logFile, "utf8");
  try {
    const { pid } = child;
    const shown = await welcomed(child);
    if (shown === undefined || pid === undefined) {
      throw new Error(`the service does not answer; it said: ${await said()}`);
    }
    // It runs already: we are its guest.
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
      log: said,
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

/** What ends the process and removes its folder, also when measuring is broken off. */
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

/** Port, key and coin types as the service prints them; undefined when it does not. */
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
