/** The service as a user runs it, and the bare handlers: one process each, one database. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createKey } from "../src/http/keys.ts";
import { bodyOf, type Question } from "./graphql-queries.ts";
import { type Call, callOf } from "./load.ts";
import type { Scratch } from "./scratch-postgres.ts";

const LAUNCHER = fileURLToPath(new URL("../bin/holderbook.mjs", import.meta.url));
const LAUNCH = new URL("../bin/launch.mjs", import.meta.url).href;
const BARE = fileURLToPath(new URL("./graphql-bare.ts", import.meta.url));

const POOL = "10";

const DEADLINE_MS = 60_000;

/** Closing ends the process. */
export type Server = AsyncDisposable & {
  /** The launcher's; the server is its child. */
  readonly pid: number;
  /** The body. @throws unless the status is 200 */
  ask(question: Question): Promise<string>;
  /** A call with the answer's expected bytes; null: any. */
  call(question: Question, length: number | null): Call;
};

/** With checked keys, counted limits, and the log at `info` in `logFile`. */
export type Service = Server & { readonly logFile: string };

/** `serve graphql` with a valid key and an unreachable limit. */
export const startService = async ({ database, url, folder }: Scratch): Promise<Service> => {
  const { secret } = await createKey(database, { kind: "graphql" });
  // A separate folder, so that no local .env is read.
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
  const output = async () => {
    const text = await readFile(logFile, "utf8");
    return { text, port: /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(text)?.[1] };
  };
  const server = await listening(
    child,
    { path: () => "/graphql", headers: { "x-api-key": secret } },
    output,
  );
  return { ...server, logFile };
};

/** The bare handlers, with the launcher's Node flags and as many connections. */
export const startBare = async ({ url }: Scratch): Promise<Server> => {
  const run = `import { launch } from ${JSON.stringify(LAUNCH)};
    process.exitCode = await launch([${JSON.stringify(BARE)}], { tether: true, serving: true });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", run], {
    env: { PATH: process.env.PATH, DATABASE_URL: url, DATABASE_POOL: POOL },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const output = async () => ({ text, port: /^(\d+)\n/.exec(text)?.[1] });
  return listening(child, { path: ({ name }) => `/${name}`, headers: {} }, output);
};

type Address = {
  readonly path: (question: Question) => string;
  readonly headers: Readonly<Record<string, string>>;
};

/** Resolves once the process printed its address and answers there. */
const listening = async (
  child: ChildProcess,
  address: Address,
  output: () => Promise<{ readonly text: string; readonly port: string | undefined }>,
): Promise<Server> => {
  const { pid } = child;
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  const deadline = Date.now() + DEADLINE_MS;
  for (let refusal = ""; ; ) {
    const { text, port } = await output();
    if (port !== undefined && pid !== undefined) {
      const { ask, call } = client(Number(port), address);
      const answered = await ask({ name: "__typename", variables: {} }).catch((error: Error) => {
        refusal = error.message;
      });
      if (answered !== undefined) {
        const close = async () => {
          process.off("exit", kill);
          const ended = once(child, "exit");
          if (child.exitCode === null && kill()) await ended;
        };
        return { pid, ask, call, [Symbol.asyncDispose]: close };
      }
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      kill();
      throw new Error(`a server does not answer (${refusal}); its output: ${text}`);
    }
    await delay(20);
  }
};

const client = (port: number, address: Address): Pick<Server, "ask" | "call"> => {
  const headers = {
    ...address.headers,
    accept: "application/json",
    "content-type": "application/json",
  };
  return {
    ask: async (question) => {
      const url = `http://127.0.0.1:${port}${address.path(question)}`;
      const response = await fetch(url, { method: "POST", headers, body: bodyOf(question) });
      const answer = await response.text();
      if (response.status === 200) return answer;
      throw new Error(`${question.name} was answered with ${response.status}: ${answer}`);
    },
    call: (question, length) => {
      const body = bodyOf(question);
      const all = { ...headers, "content-length": Buffer.byteLength(body) };
      return callOf(port, `POST ${address.path(question)}`, all, body, length);
    },
  };
};
