/** The numbered steps of a page, each with its name in bold, and what its commands print. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFailed } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import type { Settings } from "../service/process.ts";
import { pattern, type Step, stepsIn } from "./tutorial.ts";

const run = promisify(execFile);

/** Steps of a section, to be taken in the order of the page. */
export type Steps = {
  /** The next step's commands; fails if it has another name. */
  next(name: string): readonly Step[];
  /** Names of the steps that were not taken. */
  left(): readonly string[];
};

/** @param page path from the project's root */
export const stepsOfSection = async (page: string, heading: string): Promise<Steps> => {
  const text = await readFile(join(import.meta.dirname, "../..", page), "utf8");
  const [, section = ""] = text.split(new RegExp(`^#+ ${heading}\n`, "m"));
  const [own = ""] = section.split(/^#/m);
  const [, ...steps] = own.split(/^\d+\. \*\*/m);
  const names = steps.map((step) => step.slice(0, step.indexOf("**")).replace(/[:.]$/, ""));
  let taken = 0;
  return {
    next: (name) => {
      expect(names[taken], heading).toBe(name);
      taken += 1;
      return stepsIn(steps[taken - 1] ?? "");
    },
    left: () => names.slice(taken),
  };
};

type Typed = { readonly settings: Settings; readonly cwd: string };

const OURS = /^npm run holderbook -- ((?:[\w: -]|\\\n|"[\w ,.]+"|"\$[A-Z]+")+)$/;
const WORD = /"([^"]*)"|([\w:-]+)/g;

/** Runs one line in a shell, or, a command of ours, in this process. */
const line = async (text: string, { settings, cwd }: Typed) => {
  const [, ours] = OURS.exec(text) ?? [];
  if (ours !== undefined) {
    const words = [...ours.matchAll(WORD)].map(([, quoted, bare = ""]) =>
      quoted?.startsWith("$") ? (settings[quoted.slice(1)] ?? "") : (quoted ?? bare),
    );
    const { code, stdout, stderr } = await runCommand(words, settings);
    return { code, printed: stdout + stderr };
  }
  const env = { HOME: process.env.HOME, PATH: process.env.PATH, ...settings };
  const ran = run("bash", ["-ec", `exec 2>&1\n${text}`], { cwd, env, timeout: 60_000 });
  return await ran.then(
    ({ stdout }) => ({ code: 0, printed: stdout }),
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({
      code,
      printed: stdout,
    }),
  );
};

/**
 * Runs a step's commands line by line, and expects the output that the page shows below them.
 * @param code of the last line; the others succeed
 */
export const typed = async (steps: readonly Step[], how: Typed, code = 0): Promise<string> => {
  let all = "";
  let running: string | undefined;
  // A timeout alone names no command.
  onTestFailed(() => {
    if (running !== undefined) console.error(`not ended: ${running}`);
  });
  expect(steps.length).toBeGreaterThan(0);
  for (const { command, shown } of steps) {
    let printed = "";
    const lines = command.trimEnd().split(/(?<!\\)\n/);
    for (const text of lines) {
      running = text;
      const ran = await line(text, how);
      running = undefined;
      expect(ran, `${text}: ${ran.printed}`).toMatchObject({
        code: text === lines.at(-1) ? code : 0,
      });
      printed += ran.printed;
    }
    if (shown !== "") expect(printed, command).toMatch(pattern(shown));
    all += printed;
  }
  return all;
};
