/** The other side of `WorkerProcesses`: how a process ends that was started to be killed. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";

export type Mortality = {
  /** Kills this process if its test has named this point. */
  at(point: string): void;
};

/** Listens to the test on standard input, and ends with it: a test that fails leaves nothing running. */
export const listenForDeath = (): Mortality => {
  let awaited: string | undefined;
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (point) => {
    awaited = point;
    process.stdout.write(`dies at ${point}\n`);
  });
  lines.on("close", () => process.exit(0));
  // Who is killed cannot do it at the end.
  flushCompileCache();
  return {
    at: (point) => {
      if (point === awaited) process.kill(process.pid, "SIGKILL");
    },
  };
};
