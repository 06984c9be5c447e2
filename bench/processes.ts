/** What processes cost, as Linux counts it in /proc. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

/** Processor ms of this process so far, independent of a busy machine. */
export const spentMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Linux counts in hundredths of a second, whatever the clock. */
const TICK_MS = 10;

/** Children of the main thread, which starts all of ours; none once the process is gone. */
export const childrenOf = (pid: number): readonly number[] => {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

/**
 * Processor ms of a process and all descendants; NaN once it is gone. Idle parents, such as a launcher, cost
 * nothing; ended children are counted.
 */
export const processorMs = (pid: number): number => {
  const below = childrenOf(pid).map(processorMs).filter(Number.isFinite);
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // After the name in brackets: state, parent, …; from the twelfth on user and system time, then those of ended
    // children.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return below.reduce((sum, ms) => sum + ms, ticks * TICK_MS);
  } catch {
    return Number.NaN;
  }
};

/** Largest resident set so far, MiB; 0 once the process is gone. */
export const peakMib = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
};

/** Runs a command of the launcher to its end: seconds, and the largest resident set of the process that works, MiB. */
export const measuredRun = async (
  launcher: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  onStarted: (pid: number) => void = () => undefined,
): Promise<{ readonly seconds: number; readonly mib: number }> => {
  const started = performance.now();
  const launched = spawn(process.execPath, [launcher, ...args], {
    env: { PATH: process.env.PATH, LOG_LEVEL: "warn", ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (launched.pid !== undefined) onStarted(launched.pid);
  let mib = 0;
  const watching = setInterval(() => {
    // The launcher's child does the work.
    const [worker = 0] = childrenOf(launched.pid ?? 0);
    mib = Math.max(mib, peakMib(worker));
  }, 50);
  const [code] = await once(launched, "exit");
  clearInterval(watching);
  if (code !== 0) throw new Error(`${args.join(" ")} ended with code ${code}`);
  return { seconds: (performance.now() - started) / 1_000, mib };
};
