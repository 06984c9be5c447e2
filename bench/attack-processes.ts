/** The processes of a running service, and what they hold of the machine. Linux tells; others do not. */
import { readFile } from "node:fs/promises";

/** Processes of a service by what they do. */
export type ServiceProcesses = {
  /** The launcher, the process that indexes and the one that serves. */
  readonly node: readonly number[];
  readonly serving: number | undefined;
};

/** @param launcher its pid */
export const processesOf = async (launcher: number): Promise<ServiceProcesses> => {
  const [indexing] = await childrenOf(launcher);
  if (indexing === undefined) return { node: [launcher], serving: undefined };
  const commands = await Promise.all(
    (await childrenOf(indexing)).map(async (pid) => ({
      pid,
      command: await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""),
    })),
  );
  const serving = commands.find(({ command }) => command.includes("serving-process"))?.pid;
  return { node: [launcher, indexing, ...(serving === undefined ? [] : [serving])], serving };
};

/** Of the process's main thread, which starts all that ours have. */
export const childrenOf = async (pid: number): Promise<readonly number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
};

/** Resident memory of these together, MB: what they share is counted in each. */
export const residentMb = async (pids: readonly number[]): Promise<number> =>
  sumMb(pids, "status", /^VmRSS:\s+(\d+) kB$/m);

/** Memory of a process and its children, MB: what they share is counted once. */
export const sharedMb = async (parent: number): Promise<number> =>
  sumMb([parent, ...(await childrenOf(parent))], "smaps_rollup", /^Pss:\s+(\d+) kB$/m);

const sumMb = async (pids: readonly number[], file: string, kib: RegExp): Promise<number> => {
  const found = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
      return Number(kib.exec(text)?.[1] ?? 0);
    }),
  );
  return found.reduce((sum, each) => sum + each, 0) * 1.024e-3;
};
