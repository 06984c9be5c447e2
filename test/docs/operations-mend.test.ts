// @module-tag thorough
/** The steps of "A damaged row of the log" in `docs/how-to/operations.md`, beside an index that goes on. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { factSource } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { damageFact } from "../log/damage.ts";
import { eventually, type Settings, startProgram, temporaryFolder } from "../service/process.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { type Steps, stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let roles: TwoRoles;
let settings: Settings;

beforeAll(async () => {
  folder = await temporaryFolder();
  roles = await twoRoles(inject("postgresUrl"));
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: 120, seed: 3, format: "binpb", epochLength: 40 });
  settings = {
    ...roles.settings,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${dir}`,
    COMMITTEE_FILE: join(dir, "ledger.json"),
    DATA_DIR: join(folder.path, "data"),
  };
  expect(await runCommand(["index", "--last", "60"], settings)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await roles?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

const take = (step: readonly Step[], code = 0) => typed(step, { settings, cwd: folder.path }, code);

const mending = (): Promise<Steps> =>
  stepsOfSection("docs/how-to/operations.md", "A damaged row of the log");

test("a damaged row of the log is mended while the index runs, and recorded", async () => {
  await using _index = startProgram(["index"], settings);
  const log = factSource(roles.superuser);
  await eventually("the log to be read", async () => {
    const { nextCheckpoint } = await log.highWater();
    return nextCheckpoint === 120n ? { done: true } : { seen: `${nextCheckpoint}` };
  });
  const steps = await mending();
  await damageFact(roles.superuser, { name: "shared_token::Transfer", after: 40n });
  await take(steps.next("Look"), 1);
  const { DATABASE_OWNER_URL: _, ...service } = settings;
  const asService = ["verify", "--log", "--mend", "--by", "Ada", "--because", "a disk"];
  expect(await runCommand(asService, service)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/DatabaseRightsError/),
  });
  await take(steps.next("Mend"));
  await take(steps.next("Replay"));
  await take(steps.next("Tell"));
  expect(steps.left()).toEqual([]);
  expect(await runCommand(["reconcile"], settings)).toMatchObject({ code: 0 });
}, 120_000);
