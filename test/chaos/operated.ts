/** A process of the service under a supervisor, as operators run one: whatever ends it, it is started again. */
import { eventually, type Program, type Settings, startProgram } from "../service/process.ts";
import { isRunning, processesOf, serviceBelow, signalAll } from "../service/processes.ts";

export type Operated = AsyncDisposable & {
  readonly name: string;
  /** Of the process that does the work, below the launcher. */
  worker(): Promise<number>;
  /** Of the process that answers; only `start` has one of its own. */
  serving(): Promise<number>;
  kill(): Promise<void>;
  /** The launcher and all below it. */
  killAll(): Promise<void>;
  /** Stops the launcher and all below it as they are, or lets them go on. */
  signal(name: "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** How often it was started. */
  starts(): number;
  /** The end of what it logged, over all its starts. */
  logged(): string;
};

const KEPT = 200_000;

/** Starts it; resolves at once. */
export const operate = (name: string, args: readonly string[], settings: Settings): Operated => {
  let program: Program;
  let starts = 0;
  let before = "";
  let isOver = false;
  const logged = () => `${before}${program.printed.stderr}`.slice(-KEPT);
  const start = () => {
    program = startProgram(args, settings);
    starts += 1;
    void program.ended.then((code) => {
      before = `${logged()}\n${name} ended with ${code}\n`.slice(-KEPT);
      program.printed.stderr = "";
      if (!isOver) start();
    });
  };
  start();
  const worker = () =>
    eventually(`the process of ${name}`, async () => {
      const all = await processesOf(program.pid);
      const node = all.filter(({ command }) => command.includes("src/commands/main.ts"));
      const own = node.at(-1);
      return own === undefined ? { seen: all } : { done: own.pid };
    });
  return {
    name,
    worker,
    serving: () =>
      eventually(`the process that serves of ${name}`, () =>
        serviceBelow(program.pid).then(
          ({ serving }) => ({ done: serving.pid }),
          (error: Error) => ({ seen: error.message }),
        ),
      ),
    kill: async () => {
      const pid = await worker();
      process.kill(pid, "SIGKILL");
      await eventually(`the end of ${name}`, async () =>
        isRunning(pid) ? { seen: pid } : { done: true },
      );
    },
    killAll: async () => {
      for (const { pid } of await processesOf(program.pid)) {
        if (isRunning(pid)) process.kill(pid, "SIGKILL");
      }
    },
    signal: (signal) => signalAll(program.pid, signal),
    starts: () => starts,
    logged,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await program[Symbol.asyncDispose]();
    },
  };
};
