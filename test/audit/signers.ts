/** Signers of docs/examples/deployment-signer.mjs, each a process of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PROGRAM = join(import.meta.dirname, "../../docs/examples/deployment-signer.mjs");

export const TOKEN = "a token of the test";

export type RunningSigner = AsyncDisposable & {
  readonly url: string;
  readonly publicKey: string;
  /** As the settings of a process that signs with it. */
  readonly settings: Readonly<Record<string, string>>;
  /** Ends the process; nothing listens at the URL any more. */
  stop(): Promise<void>;
  /** Listens at the same URL again. */
  start(): Promise<void>;
  /** Takes the key away, or puts it back: without it the answer is 503. */
  hide(): void;
  show(): void;
};

/** Makes a key and serves it. */
export const startSigner = async (): Promise<RunningSigner> => {
  const folder = mkdtempSync(join(tmpdir(), "holderbook-signer-"));
  const file = join(folder, "key.pem");
  const publicKey = execFileSync(process.execPath, [PROGRAM, "make", file], {
    encoding: "utf8",
  }).trim();
  let child: ChildProcess | undefined;
  let url = "";
  const start = async () => {
    const port = url === "" ? "0" : new URL(url).port;
    child = spawn(process.execPath, [PROGRAM, "serve", file, port], {
      env: { ...process.env, SIGNER_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (child.stdout === null) throw new Error("the signer has no output");
    const lines = createInterface(child.stdout);
    const [line] = await once(lines, "line");
    url = JSON.parse(line).listening;
  };
  const stop = async () => {
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    child = undefined;
  };
  await start();
  return {
    url,
    publicKey,
    settings: {
      DEPLOYMENT_SIGNER_URL: url,
      DEPLOYMENT_SIGNER_KEY: publicKey,
      DEPLOYMENT_SIGNER_TOKEN: TOKEN,
    },
    stop,
    start,
    hide: () => renameSync(file, `${file}.away`),
    show: () => renameSync(`${file}.away`, file),
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
