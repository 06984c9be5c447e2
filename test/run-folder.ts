/** The folder for all files of one test run. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { access, constants, mkdir, readdir, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "holderbook-run-";

/** A file system in memory. A database is 900 small files: on a disk, making one takes ten times as long. */
export const IN_MEMORY = "/dev/shm";
/** What a run needs at most. Containers often give less. */
const NEEDED_BYTES = 3 * 2 ** 30;

const hasRoom = async () => {
  try {
    await access(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = await statfs(IN_MEMORY);
    return bavail * bsize > NEEDED_BYTES;
  } catch {
    return false;
  }
};

const parent = (await hasRoom()) ? IN_MEMORY : tmpdir();

/** Where temporary files of this run go: in memory if there is room. */
export const runFolder = join(parent, `${PREFIX}${process.pid}`);

/** Creates the folder, and removes those of runs that were killed. */
export const createRunFolder = async (): Promise<AsyncDisposable> => {
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : undefined;
    if (pid !== undefined && !isRunning(pid)) await remove(join(parent, name));
  }
  await mkdir(runFolder, { recursive: true, mode: 0o700 });
  return {
    [Symbol.asyncDispose]: async () => {
      for (const name of await readdir(runFolder)) {
        const pid = Number(/^pid-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
        if (pid > 0 && isRunning(pid)) process.kill(pid, "SIGTERM");
      }
      await remove(runFolder);
    },
  };
};

/** Notes a process that a test started, so that it ends with the run if the test cannot end it. */
export const endWithRun = (child: ChildProcess): void => {
  const file = join(tmpdir(), `pid-${child.pid}`);
  writeFileSync(file, "");
  child.once("exit", () => rmSync(file, { force: true }));
};

const remove = async (path: string) => {
  await unmountBelow(path);
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
};

/** Disks that a killed run mounted there stand in the way. */
const unmountBelow = async (path: string) => {
  const mounts = await readFile("/proc/mounts", "utf8").catch(() => "");
  for (const [, at = ""] of mounts.matchAll(/^\S+ (\S+) tmpfs /gm)) {
    if (at.startsWith(`${path}/`)) execFileSync("umount", ["--lazy", at]);
  }
};

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
