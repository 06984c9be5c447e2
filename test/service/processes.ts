/** Processes below one that was started: which they are, and what they take. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export type Process = {
  readonly pid: number;
  readonly parent: number;
  readonly residentBytes: number;
  readonly command: string;
};

/** All processes below one, at any depth, and itself. */
export const processesOf = async (root: number): Promise<readonly Process[]> => {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid=,rss=,args="]);
  const all = stdout.split("\n").flatMap((line): Process[] => {
    const [, pid, parent, kib, command = ""] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined) return [];
    return [
      { pid: Number(pid), parent: Number(parent), residentBytes: Number(kib) * 1024, command },
    ];
  });
  const below = (pid: number): readonly Process[] =>
    all.filter(({ parent }) => parent === pid).flatMap((each) => [each, ...below(each.pid)]);
  return [...all.filter(({ pid }) => pid === root), ...below(root)];
};

/**
 * Signals a process and all below it, itself first: once it is stopped no other comes. Those that ended after they
 * were listed, as a server's do, are passed over.
 */
export const signalAll = async (root: number, signal: NodeJS.Signals): Promise<void> => {
  process.kill(root, signal);
  for (const { pid } of await processesOf(root)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (isRunning(pid)) throw error;
    }
  }
};

/** The process that serves below a launched `start`, and the one that indexes, its parent. */
export const serviceBelow = async (launcher: number) => {
  const all = await processesOf(launcher);
  const serving = all.find(({ command }) => command.includes("serving-process/main.ts"));
  const indexing = all.find(({ pid }) => pid === serving?.parent);
  if (serving === undefined || indexing === undefined) {
    throw new Error(`no process serves below ${launcher}: ${JSON.stringify(all)}`);
  }
  return { serving, indexing };
};

/** Whether a process is there. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
