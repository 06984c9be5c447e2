/** The service as a user runs it, and the bare handlers beside it: a process each, over one database. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createKey } from "../src/http/keys.ts";
import type { Call } from "./graphql-load.ts";
import { bodyOf, type Question } from "./graphql-queries.ts";
import type { Scratch } from "./scratch-postgres.ts";

const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));
const LAUNCH = new URL("../bin/launch.mjs", import.meta.url).href;
const BARE = fileURLToPath(new URL("./graphql-bare.ts", import.meta.url));

/** Connections of either to the database. */
const POOL = "10";

const DEADLINE_MS = 60_000;

/** A server that answers questions; closing ends its process. */
export type Server = AsyncDisposable & {
  /** Of the launcher; what answers is below it. */
  readonly pid: number;
  /** The question as a call, once its answer is known. */
  ask(question: Question): Promise<{ readonly call: Call; readonly answer: string }>;
};

/** The service: keys checked, limits counted, and the log at `info` in `logFile`. */
export type Service = Server & { readonly logFile: string };

/** `serve graphql` over this database, for callers with a good key and a limit out of reach. */
export const startService = async ({ database, url, folder }: Scratch): Promise<Service> => {
  const { secret } = await createKey(database, { kind: "graphql" });
  // A folder of its own: an .env of whoever measures is not read.
  const cwd = join(folder, "service");
  await mkdir(cwd);
  const logFile = join(cwd, "log");
  const log = await open(logFile, "a");
  const child = spawn(process.execPath, [LAUNCHER, "serve", "graphql"], {
    cwd,
    env: {
      PATH: process.env.PATH,
      PORT: "0",
      DATA_DIR: cwd,
      DATABASE_URL: url,
      DATABASE_POOL: POOL,
      LOG_LEVEL: "info",
      RATE_LIMIT_PER_MINUTE: "10000000",
    },
    stdio: ["ignore", "ignore", log.fd],
  });
  await log.close();
  const said = async () => {
    const text = await readFile(logFile, "utf8");
    return { text, port: /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(text)?.[1] };
  };
  const server = await listening(child, "/graphql", { "x-api-key": secret }, said);
  return { ...server, logFile };
};

/** The bare handlers over this database, with the launcher's Node flags and as many connections. */
export const startBare = async ({ url }: Scratch): Promise<Server> => {
  const run = `import { launch } from ${JSON.stringify(LAUNCH)};
    process.exitCode = await launch([${JSON.stringify(BARE)}], { tether: true });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", run], {
    env: { PATH: process.env.PATH, DATABASE_URL: url, DATABASE_POOL: POOL },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const said = async () => ({ text, port: /^(\d+)\n/.exec(text)?.[1] });
  return listening(child, ({ name }) => `/${name}`, {}, said);
};

/** The server, as soon as the process has said where it listens. */
const listening = async (
  child: ChildProcess,
  path: string | ((question: Question) => string),
  headers: Readonly<Record<string, string>>,
  said: () => Promise<{ readonly text: string; readonly port: string | undefined }>,
): Promise<Server> => {
  const { pid } = child;
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const { text, port } = await said();
    if (port !== undefined && pid !== undefined) {
      const asked = asker(Number(port), path, headers);
      return {
        pid,
        ask: asked,
        [Symbol.asyncDispose]: async () => {
          process.off("exit", kill);
          const ended = once(child, "exit");
          if (child.exitCode === null && kill()) await ended;
        },
      };
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      kill();
      throw new Error(`a server did not begin to listen; it said: ${text}`);
    }
    await delay(20);
  }
};

const asker =
  (
    port: number,
    path: string | ((question: Question) => string),
    headers: Readonly<Record<string, string>>,
  ): Server["ask"] =>
  async (question) => {
    const body = bodyOf(question);
    const target = typeof path === "string" ? path : path(question);
    const fields = { ...headers, accept: "application/json", "content-type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${port}${target}`, {
      method: "POST",
      headers: fields,
      body,
    });
    const answer = await response.text();
    if (response.status !== 200) {
      throw new Error(`${question.name} was answered with ${response.status}: ${answer}`);
    }
    const lines = Object.entries({
      host: `127.0.0.1:${port}`,
      ...fields,
      "content-length": String(Buffer.byteLength(body)),
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = Buffer.from(`POST ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    return { answer, call: { port, bytes, length: Buffer.byteLength(answer) } };
  };
