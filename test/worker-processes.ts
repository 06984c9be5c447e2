/** Processes that are killed: from outside in whatever they do, or by themselves at a named point. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "./lanes/until.ts";

/** Where the launcher keeps what Node compiled; a process then starts in half the time. */
const COMPILED = fileURLToPath(new URL("../node_modules/.holderbook/compiled", import.meta.url));

/** As the program itself begins: the process then starts in half the time once more. */
const QUICK_IMPORTS = new URL("../src/commands/quick-imports.ts", import.meta.url).href;

const START_MS = 120_000;

type Running = { readonly child: ChildProcess; readonly said: () => string };

/** Names a point to a process; resolves once it knows. */
const tell = async ({ child, said }: Running, point: string) => {
  child.stdin?.write(`${point}\n`);
  await until("the process to know it", said, (text) => text.includes(`awaits ${point}\n`));
};

/** Processes of one program, all with the same settings. They end with the scope. */
export class WorkerProcesses<Settings> implements AsyncDisposable {
  readonly #program: string;
  readonly #settings: Settings;
  readonly #running: Running[] = [];

  /** The program takes its settings as JSON and prints "ready". */
  constructor(program: URL, settings: Settings) {
    this.#program = fileURLToPath(program);
    this.#settings = settings;
  }

  /** Resolves once the process takes work. */
  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [
        ...["--disable-warning=ExperimentalWarning", "--import", QUICK_IMPORTS],
        ...[this.#program, JSON.stringify(this.#settings)],
      ],
      {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
      },
    );
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    const running = { child, said: () => said };
    this.#running.push(running);
    await until("the worker process", running.said, (text) => text.includes("ready"), START_MS);
  }

  /**
   * Tells the only process to kill itself when it comes to a point (see `mortality.ts`); `died` resolves
   * when it has.
   */
  async letDieAt(point: string): Promise<{ readonly died: Promise<void> }> {
    const running = this.#running.shift();
    if (running === undefined) throw new Error("no process runs");
    const died = once(running.child, "exit").then(() => undefined);
    await tell(running, point);
    return { died };
  }

  /**
   * Tells the oldest process that the first who comes to a point stays there, so that many are at different
   * points when the process is killed; `stays` resolves when one does.
   */
  async letStayAt(point: string): Promise<{ stays(): Promise<void> }> {
    const [running] = this.#running;
    if (running === undefined) throw new Error("no process runs");
    await tell(running, point);
    const { said } = running;
    return {
      stays: async () => {
        const line = `stays at ${point}\n`;
        await until(`someone to stay at "${point}"`, said, (text) => text.includes(line), START_MS);
      },
    };
  }

  /** Kills the oldest one. */
  async killOne(): Promise<void> {
    const running = this.#running.shift();
    if (running === undefined) return;
    const ended = once(running.child, "exit");
    running.child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose]() {
    while (this.#running.length > 0) await this.killOne();
  }
}
