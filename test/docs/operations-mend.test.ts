// @module-tag thorough
/** The steps of "A damaged row of the log" in `docs/how-to/operations.md`, beside an index that goes on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { factSource } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { damageFact } from "../log/damage.ts";
import { eventually, startProgram } from "../service/process.ts";
import { type IndexedDeployment, indexedDeployment } from "./indexed-deployment.ts";
import { type Steps, stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

let deployment: IndexedDeployment;
beforeAll(async () => {
  deployment = await indexedDeployment(60);
});
afterAll(() => deployment?.[Symbol.asyncDispose]());

const take = (step: readonly Step[], code = 0) =>
  typed(step, { settings: deployment.settings, cwd: deployment.folder.path }, code);

const mending = (): Promise<Steps> =>
  stepsOfSection("docs/how-to/operations.md", "A damaged row of the log");

test("a damaged row of the log is mended while the index runs, and recorded", async () => {
  await using _index = startProgram(["index"], deployment.settings);
  const log = factSource(deployment.roles.superuser);
  await eventually("the log to be read", async () => {
    const { nextCheckpoint } = await log.highWater();
    return nextCheckpoint === 120n ? { done: true } : { seen: `${nextCheckpoint}` };
  });
  const steps = await mending();
  await damageFact(deployment.roles.superuser, { name: "shared_token::Transfer", after: 40n });
  await take(steps.next("Look"), 1);
  const { DATABASE_OWNER_URL: _, ...service } = deployment.settings;
  const asService = ["verify", "--log", "--mend", "--by", "Ada", "--because", "a disk"];
  expect(await runCommand(asService, service)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/DatabaseRightsError/),
  });
  await take(steps.next("Mend"));
  await take(steps.next("Replay"));
  await take(steps.next("Tell"));
  expect(steps.left()).toEqual([]);
  expect(await runCommand(["reconcile"], deployment.settings)).toMatchObject({ code: 0 });
}, 120_000);
