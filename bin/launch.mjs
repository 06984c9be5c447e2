/** Runs a program on the pinned Node as if it were this process: same terminal, signals and exit code. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { installedAsDependency, nodeBinary, root } from "./install.mjs";

/**
 * Node lets garbage pile up to a share of the machine's memory. The service works in bounded batches:
 * a smaller young generation and heap keep it at a third of that, at the same speed.
 */
const BOUNDED_HEAP = ["--max-semi-space-size=8", "--max-old-space-size=768"];

/** Answers are much garbage that dies young: with less room a quarter of a server's time is copying it. */
const SERVING_HEAP = ["--max-semi-space-size=32", "--max-old-space-size=768"];

/**
 * glibc keeps what threads freed in up to eight pools for each core. With two pools, and large blocks
 * returned as soon as they are freed, a process that was attacked holds some 80 MB less afterwards.
 * Other C libraries do not know the names.
 */
const MALLOC = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };

/**
 * Where Node keeps what it compiled, types already stripped: a start takes half the time. Beside the
 * packages, which belong to the user who installed them: no other user may put code there. Where it cannot
 * be written, Node compiles anew.
 */
const compiled = join(dirname(nodeBinary()), "..", "..", ".holderbook", "compiled");

/**
 * @param {string[]} args what follows `node` on the command line
 * @param {{ cwd?: string, tether?: boolean, serving?: boolean }} options `tether`: the program is the
 *   service: its heap is bounded, and it gets a channel that closes when this process dies, so that it can
 *   end too; `serving`: it answers requests and does nothing else
 * @returns {Promise<number>} the exit code; 128 plus the signal's number when a signal ended it
 */
export const launch = (args, { cwd, tether = false, serving = false } = {}) =>
  new Promise((resolve, reject) => {
    const heap = serving ? SERVING_HEAP : BOUNDED_HEAP;
    // Node strips types of files outside node_modules only; an installed copy strips its own.
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
    // A terminal signals the whole group; a supervisor signals only us, so pass it on.
    const forward = (signal) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
