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
 * Threads of a backfill allocate half a megabyte of buffers per checkpoint. By default V8 marks the
 * whole heap whenever these reach 64 MB: half the processor time. Some 250 MB more per thread let it
 * wait.
 */
const READING_HEAP = [
  ...BOUNDED_HEAP,
  "--external-memory-accounted-in-global-limit",
  "--initial-old-space-size=128",
];

/**
 * glibc keeps freed memory in up to eight arenas per core. Two arenas and immediate return of large
 * blocks save about 80 MB after an attack. Other C libraries ignore these names.
 */
const MALLOC = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };

/** Such buffers are reused: returning each takes as long as decompressing into it. */
const READING_MALLOC = {
  MALLOC_MMAP_THRESHOLD_: `${4 << 20}`,
  MALLOC_TRIM_THRESHOLD_: `${128 << 20}`,
};

const MEMORY = new Map([
  ["serve", { heap: SERVING_HEAP, malloc: MALLOC }],
  ["backfill", { heap: READING_HEAP, malloc: READING_MALLOC }],
]);

/**
 * Node's compile cache, with types stripped, halves the start. Beside the packages, where only
 * their owner can put code. If it is not writable, Node compiles every time.
 */
const compiled = join(dirname(nodeBinary()), "..", "..", ".holderbook", "compiled");

/**
 * @param {string[]} args arguments of `node`
 * @param {{ cwd?: string, tether?: boolean, role?: string | undefined }} options `tether`: bounds
 * the service's heap, and opens a channel that closes when this process dies, so that the service
 * ends too; `role`: `serve` only answers requests, `backfill` only reads ranges
 * @returns {Promise<number>} the exit code; 128 plus the signal's number after a signal
 */
export const launch = (args, { cwd, tether = false, role = "" } = {}) =>
  new Promise((resolve, reject) => {
    const { heap, malloc } = MEMORY.get(role) ?? { heap: BOUNDED_HEAP, malloc: MALLOC };
    // Node strips types only outside node_modules; an installed copy strips its own.
    const strip = installedAsDependency ? ["--import", join(root, "bin", "strip-types.mjs")] : [];
    const child = spawn(
      nodeBinary(),
      ["--disable-warning=ExperimentalWarning", ...(tether ? heap : []), ...strip, ...args],
      {
        stdio: tether ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
        cwd,
        env: tether ? { NODE_COMPILE_CACHE: compiled, ...malloc, ...process.env } : process.env,
      },
    );
    // A terminal signals the whole group, a supervisor only this process: forward.
    const forward = (signal) => child.kill(signal);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
