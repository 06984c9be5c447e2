// @module-tag thorough
/** The steps of "Files for analysis" in `docs/how-to/operations.md`, on a database as an operator has it. */
import { execFile } from "node:child_process";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { runCommand } from "../commands/run-command.ts";
import { temporaryFolder } from "../service/process.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { stepsOfSection } from "./steps.ts";
import { pattern, type Step } from "./tutorial.ts";

const run = promisify(execFile);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let roles: TwoRoles;

beforeAll(async () => {
  folder = await temporaryFolder();
  roles = await twoRoles(inject("postgresUrl"));
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: 120, seed: 3, format: "chk" });
  const settings = { ...roles.settings, LEDGER_SOURCE: `dir:${dir}` };
  expect(await runCommand(["index", "--last", "119"], settings)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await roles?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

/** The step's command as typed in this folder. */
const exported = async ([step]: readonly Step[]) => {
  expect(step?.command).toBe(
    "npm run holderbook -- archive export --format parquet --dir export\n",
  );
  const dir = join(folder.path, "export");
  const words = ["archive", "export", "--format", "parquet", "--dir", dir];
  const { code, stdout, stderr } = await runCommand(words, roles.settings);
  expect(code, stderr).toBe(0);
  expect(stdout.replace(dir, "export")).toMatch(pattern(step?.shown ?? ""));
};

test("files for analysis are exported by the service's role, completed after a loss, and checked", async () => {
  const steps = await stepsOfSection("docs/how-to/operations.md", "Files for analysis");
  await exported(steps.next("Export"));
  const path = (name: string) => join(folder.path, "export", name);
  const { ino } = await stat(path("facts-0001.parquet"));
  await rm(path("register.parquet"));
  await exported(steps.next("Again after an interruption"));
  expect((await stat(path("facts-0001.parquet"))).ino).toBe(ino);
  const [check] = steps.next("Check");
  const { stdout } = await run("bash", ["-ec", check?.command ?? ""], { cwd: folder.path });
  expect(stdout).toMatch(pattern(check?.shown ?? ""));
  expect(stdout.trim().split("\n")).toHaveLength(6);
  expect(steps.left()).toEqual([]);
});
