import { execFileSync } from "node:child_process";
import { mkdir, statfs } from "node:fs/promises";

const MIB = 1 << 20;

/** A disk of its own in memory, of so many MiB; undefined where none may be mounted. */
export const smallDisk = async (at: string, sizeMib: number) => {
  await mkdir(at);
  const options = (bytes: number) => `size=${bytes}`;
  const full = options(sizeMib * MIB);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", full, "tmpfs", at], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  const resize = (to: string) => void execFileSync("mount", ["-o", `remount,${to}`, at]);
  return {
    path: at,
    /** Leaves no room beyond what is used. */
    shrink: async () => {
      const { blocks, bfree, bsize } = await statfs(at);
      resize(options((blocks - bfree) * bsize));
    },
    /** Gives the room back. */
    grow: () => resize(full),
    [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", at]),
  };
};
