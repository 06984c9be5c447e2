/** The other side of `WorkerProcesses`: how a process ends that was started to be killed. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";

export type Mortality = {
  /** Kills this process if its test has named this point. */
  at(point: string): void;
  /** The first who comes to a point that the test has named stays there, until the process is killed. */
  staysAt(point: string): Promise<void>;
};

/** Listens to the test on standard input, and ends with it: a test that fails leaves nothing running. */
export const listenForDeath = (): Mortality => {
  let awaited: string | undefined;
  const here = (point: string) => point === awaited;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (point) => {
    awaited = point;
    process.stdout.write(`awaits ${point}\n`);
  });
  lines.on("close", () => process.exit(0));
  // Who is killed cannot do it at the end.
  flushCompileCache();
  return {
    at: (point) => {
      if (here(point)) process.kill(process.pid, "SIGKILL");
    },
    staysAt: async (point) => {
      if (!here(point)) return;
      awaited = undefined;
      process.stdout.write(`stays at ${point}\n`);
      await new Promise<never>(() => undefined);
    },
  };
};
