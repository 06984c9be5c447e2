/** A command of the program, run in this process: as a user's, without the second that a process takes. */
import type { EventEmitter } from "node:events";
import { tmpdir } from "node:os";
import { runCommandLine } from "../../src/commands/command-line.ts";

/** What a command printed, and the code it ends with. */
export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** What a command listens to until its process ends. */
const UNTIL_THE_END = ["SIGINT", "SIGTERM", "SIGHUP", "disconnect", "exit"] as const;

let before: Promise<unknown> = Promise.resolve();

/**
 * Runs a command with these settings alone; one after the other, as all print to the same place. Not for
 * commands that run until they are stopped. Log lines are not part of what is printed.
 */
export const runCommand = (
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Ran> => {
  const running = before.then(() => run(args, settings));
  before = running.catch(() => undefined);
  return running;
};

const run = async (
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Ran> => {
  const { env, exitCode, stdout, stderr } = process;
  const folder = process.cwd();
  const [writeOut, writeErr] = [stdout.write, stderr.write];
  const events: EventEmitter = process;
  const listeners = UNTIL_THE_END.map((name) => [name, events.listeners(name)] as const);
  const printed = { stdout: "", stderr: "" };
  const into = (name: keyof typeof printed) => (chunk: string | Uint8Array) => {
    printed[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    return true;
  };
  // The command lets go of the channel to the process that started this one, which would end it.
  const alive = setInterval(() => undefined, 1_000);
  try {
    // Nothing of our settings, and no `.env`.
    process.env = { PATH: env.PATH, HOME: env.HOME, LOG_LEVEL: "fatal", ...settings };
    process.chdir(tmpdir());
    process.exitCode = undefined;
    stdout.write = into("stdout");
    stderr.write = into("stderr");
    await runCommandLine(args);
    return { code: Number(process.exitCode ?? 0), ...printed };
  } finally {
    stdout.write = writeOut;
    stderr.write = writeErr;
    process.env = env;
    process.exitCode = exitCode;
    process.chdir(folder);
    process.channel?.ref();
    clearInterval(alive);
    for (const [name, known] of listeners) {
      const added = events.listeners(name).slice(known.length);
      for (const listener of added) events.off(name, listener as () => void);
    }
  }
};
