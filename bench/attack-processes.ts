/** A running service's processes and their memory, on Linux only. */
import { readFile } from "node:fs/promises";

type ServiceProcesses = {
  /** The launcher, the indexing and the serving process. */
  readonly node: readonly number[];
  readonly serving: number | undefined;
};

/** @param launcher pid */
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

/** Children of the main thread, which starts all of ours. */
export const childrenOf = async (pid: number): Promise<readonly number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
};

/** Resident memory in MB; shared pages count in each process. */
export const residentMb = async (pids: readonly number[]): Promise<number> =>
  sumMb(pids, "status", /^VmRSS:\s+(\d+) kB$/m);

/** Memory of a process and its children in MB; shared pages count once. */
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
