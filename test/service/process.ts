/** The program as a user starts it: a process of its own, driven from outside. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { endWithRun } from "../run-folder.ts";

const LAUNCHER = fileURLToPath(new URL("../../bin/holderbook.mjs", import.meta.url));

export type Settings = Readonly<Record<string, string>>;

/** A running `holderbook …`. */
export type Program = AsyncDisposable & {
  readonly pid: number;
  /** Everything it printed so far. */
  readonly printed: { stdout: string; stderr: string };
  /** Exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  /** Resolves with the match once standard output has it; fails naming what was printed instead. */
  sees(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
};

/** Where a program runs; without it a folder that has no `.env`. */
export type Place = { readonly cwd?: string };

/** Starts the launcher with these arguments and nothing of our environment but what it needs. */
export const startProgram = (
  args: readonly string[],
  settings: Settings,
  { cwd = tmpdir() }: Place = {},
): Program => {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    cwd,
    // A free port where none is set: other programs have the default one.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithRun(child);
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    printed.stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    printed.stderr += chunk.toString();
  });
  const { pid } = child;
  // A signal to pid 0 would stop or end this whole run.
  if (pid === undefined) throw new Error(`${args.join(" ")} could not be started`);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let running = true;
  void ended.then(() => {
    running = false;
  });
  return {
    pid,
    printed,
    ended,
    sees: async (pattern, withinMs = 120_000) => {
      const deadline = Date.now() + withinMs;
      for (;;) {
        const match = pattern.exec(printed.stdout);
        if (match) return match;
        if (!running || Date.now() > deadline) {
          throw new Error(
            `${args.join(" ")} ${running ? "runs" : "ended"} without printing ${pattern}; it printed:\n${printed.stdout}\n${printed.stderr}`,
          );
        }
        await delay(20);
      }
    },
    signal: (name) => {
      child.kill(name);
    },
    [Symbol.asyncDispose]: async () => {
      if (running) child.kill("SIGTERM");
      await ended;
    },
  };
};

/** Runs to the end. */
export const runProgram = async (args: readonly string[], settings: Settings, place?: Place) => {
  const program = startProgram(args, settings, place);
  const code = await program.ended;
  return { code, ...program.printed };
};

/** A folder that is gone afterwards; closed to others, as temporary folders are. */
export const temporaryFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), "holderbook-test-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
};

/**
 * Waits until `look` gives something, and fails at the deadline telling what was seen last. It looks the more rarely
 * the longer it waits: looks at a service take processor time here and there.
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<{ readonly done: T } | { readonly seen: unknown }>,
  withinMs = 120_000,
): Promise<T> => {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if ("done" in found) return found.done;
    const waitedMs = Date.now() - began;
    if (waitedMs > withinMs) {
      throw new Error(
        `${what}: not within ${withinMs} ms; last seen ${JSON.stringify(found.seen)}`,
      );
    }
    await delay(Math.min(Math.max(20, waitedMs / 10), 500));
  }
};
