/** Processes that process requests, to be killed in the middle of what they do. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { until } from "../lanes/until.ts";
import type { WorkerProcessSettings } from "./worker-process.ts";

const PROGRAM = fileURLToPath(new URL("./worker-process.ts", import.meta.url));
const LEASE_MS = 2_000;

/** Worker processes of one circle. */
export class Workers implements AsyncDisposable {
  readonly #settings: WorkerProcessSettings;
  readonly running: ChildProcess[] = [];

  constructor(settings: Omit<WorkerProcessSettings, "leaseMs" | "masterKey">) {
    const masterKey = randomBytes(32).toString("base64");
    this.#settings = { ...settings, masterKey, leaseMs: LEASE_MS };
  }

  /** Resolves once it takes work. */
  async start(): Promise<void> {
    const args = ["--disable-warning=ExperimentalWarning", PROGRAM, JSON.stringify(this.#settings)];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.running.push(child);
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await until(
      "the worker process",
      () => said,
      (text) => text.includes("ready"),
      120_000,
    );
  }

  /** Kills the oldest one, in whatever it is doing. */
  async killOne(): Promise<void> {
    const child = this.running.shift();
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose]() {
    while (this.running.length > 0) await this.killOne();
  }
}
