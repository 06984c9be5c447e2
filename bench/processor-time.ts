/** What a process costs, as Linux counts it. */
import { readdirSync, readFileSync } from "node:fs";

/** Of a process and of its children that have ended. */
type Spent = { readonly pid: number; readonly parent: number; readonly ms: number };

/** Linux counts in hundredths of a second, whatever the clock. */
const TICK_MS = 10;

/**
 * Processor time of a process and of all below it so far, in milliseconds; NaN where there is no /proc.
 * Parents that do nothing, such as a launcher, cost nothing; children that have ended are counted.
 */
export const processorMs = (pid: number): number => {
  const all = everyProcess();
  const self = all.find((process) => process.pid === pid);
  if (self === undefined) return Number.NaN;
  const below = (parent: number): number =>
    all.reduce(
      (sum, process) => (process.parent === parent ? sum + process.ms + below(process.pid) : sum),
      0,
    );
  return self.ms + below(pid);
};

const everyProcess = (): readonly Spent[] => {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => spentBy(Number(name)));
  } catch {
    return [];
  }
};

const spentBy = (pid: number): readonly Spent[] => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before the last bracket may hold spaces. Behind it: state, parent, …, and from the
    // twelfth on user and system time, its own and of children that have ended.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid, parent: Number(fields[1]), ms: ticks * TICK_MS }];
  } catch {
    // It ended meanwhile.
    return [];
  }
};
