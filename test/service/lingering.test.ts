import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram, temporaryFolder } from "./process.ts";

const LINGERS_MS = 300_000;

/** What a library does whose server went away: it waits, and keeps the process. */
const LINGERING = `
if (process.argv[1]?.endsWith("main.ts")) setTimeout(() => undefined, ${LINGERS_MS});
`;

test("a finished command exits with its output and code, whatever a library still waits for", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "lingering.mjs");
  await writeFile(file, LINGERING);
  const beganMs = performance.now();
  const lingering = { NODE_OPTIONS: `--import ${file}` };
  const { code, stdout } = await runProgram(["--help"], lingering);
  const wrong = await runProgram(["no-such-command"], lingering);
  expect(performance.now() - beganMs).toBeLessThan(LINGERS_MS / 3);
  expect({ code, wrong: wrong.code }).toEqual({ code: 0, wrong: 2 });
  expect(stdout).toContain("Indexes security tokens");
}, 120_000);
