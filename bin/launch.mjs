/** Runs a program on the pinned Node like this process: same terminal, signals and exit code. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { installedAsDependency, nodeBinary, root } from "./install.mjs";

/**
 * Node lets garbage grow with the machine's memory. The service works in bounded batches: a smaller
 * young generation and heap need a third of the memory at the same speed.
 */
const BOUNDED_HEAP = ["--max-semi-space-size=8", "--max-old-space-size=768"];

/**
 * Answers are short-lived garbage: with less room, copying takes a quarter of the server's time.
 */
const SERVING_HEAP = ["--max-semi-space-size=32", "--max-old-space-size=768"];

/**
 * glibc keeps freed memory in up to eight arenas per core. Two arenas and immediate return of large
 * blocks save about 80 MB after an attack. Other C libraries ignore these names.
 */
const MALLOC = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };

/**
 * Node's compile cache, with types stripped, halves the start. Beside the packages, where only
 * their owner can put code. If it is not writable, Node compiles every time.
 */
const compiled = join(dirname(nodeBinary()), "..", "..", ".holderbook", "compiled");

/**
 * @param {string[]} args arguments of `node`
 * @param {{ cwd?: string, tether?: boolean, serving?: boolean }} options `tether`: bounds the
 * service's heap, and opens a channel that closes when this process dies, so that the service ends
 * too; `serving`: it only answers requests
 * @returns {Promise<number>} the exit code; 128 plus the signal's number after a signal
 */
export const launch = (args, { cwd, tether = false, serving = false } = {}) =>
  new Promise((resolve, reject) => {
    const heap = serving ? SERVING_HEAP : BOUNDED_HEAP;
    // Node strips types only outside node_modules; an installed copy strips its own.
    const strip = installedAsDependency ? ["--import", join(root, "bin", "strip-types.mjs")] : [];
    const child = spawn(
      nodeBinary(),
      ["--disable-warning=ExperimentalWarning", ...(tether ? heap : []), ...strip, ...args],
      {
        stdio: tether ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
        cwd,
        env: tether ? { NODE_COMPILE_CACHE: compiled, ...MALLOC, ...process.env } : process.env,
      },
    );
    // A terminal signals the whole group, a supervisor only this process: forward.
    const forward = (signal) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
