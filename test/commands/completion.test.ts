/** What shells complete, asked of real shells. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wholeProgram } from "../../src/commands/command-line.ts";
import { commandTree, type TreeCommand } from "../../src/commands/command-tree.ts";
import { runCommand } from "./run-command.ts";

const run = promisify(execFile);

/** As the shell's own machinery asks: words, and the cursor behind the last. */
const ASK = `
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_holderbook
printf '%s\\n' "\${COMPREPLY[@]}"
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holderbook-completion-"));
  const { stdout } = await runCommand(["completion", "bash"], {});
  await writeFile(join(folder, "bash"), stdout);
  await writeFile(join(folder, "key file.json"), "");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const completed = async (...words: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await run(
    "bash",
    ["-c", ASK, "bash", join(folder, "bash"), "holderbook", ...words],
    {
      cwd: folder,
    },
  );
  return stdout.split("\n").filter((line) => line !== "");
};

test("bash completes commands, their options, what options may be, and files", async () => {
  expect(await completed("sta")).toEqual(["start", "status", "statement"]);
  expect(await completed("keys", "c")).toEqual(["create", "callback-url"]);
  expect(await completed("callbacks", "list", "--s")).toEqual(["--since", "--status"]);
  expect(await completed("keys", "create", "--kind", "")).toEqual([
    "graphql",
    "project",
    "ta",
    "operator",
  ]);
  expect(await completed("keys", "create", "--kind", "ta", "--req")).toEqual(["--require-bound"]);
  expect(await completed("serve", "")).toContain("graphql");
  expect(await completed("ta", "sign", "--key", "key")).toEqual(["key file.json"]);
  expect(await completed("help", "reb")).toEqual(["rebuild"]);
});

test("bash offers every command and every option of each", async () => {
  const walk = async (commands: readonly TreeCommand[], before: readonly string[]) => {
    for (const { name, options, commands: below } of commands) {
      const words = [...before, name];
      const offered = await completed(...words, "");
      const wanted = [
        ...options.flatMap(({ names }) => names),
        ...below.map((command) => command.name),
      ];
      expect({ words, lacks: wanted.filter((word) => !offered.includes(word)) }).toEqual({
        words,
        lacks: [],
      });
      await walk(below, words);
    }
  };
  await walk(commandTree(await wholeProgram()), []);
});

test.for(["zsh", "fish"])("the script for %s is one that it reads", async (shell, { skip }) => {
  const { code, stdout } = await runCommand(["completion", shell], {});
  expect(code).toBe(0);
  expect(stdout).toContain("callback-url");
  const file = join(folder, shell);
  await writeFile(file, stdout);
  const there = await run(shell, ["-c", "true"]).then(
    () => true,
    () => false,
  );
  if (!there) skip(`${shell} is not installed`);
  await run(shell, ["-n", file]);
});
