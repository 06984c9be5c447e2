import { readdirSync, readFileSync } from "node:fs";

/** Of a process and its ended children. */
type Spent = { readonly pid: number; readonly parent: number; readonly ms: number };

/** Linux counts in hundredths of a second, whatever the clock. */
const TICK_MS = 10;

/**
 * Processor ms of a process and all descendants; NaN without /proc. Idle parents, such as a
 * launcher, cost nothing; ended children are counted.
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
    // The name in brackets may contain spaces. Fields after it: state, parent, …; from the twelfth
    // user and system time of the process and its ended children.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid, parent: Number(fields[1]), ms: ticks * TICK_MS }];
  } catch {
    // It has ended.
    return [];
  }
};
