// @module-tag thorough
/** The steps of "Releasing a coin" in `docs/how-to/operations.md`, beside an index that goes on. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HOLDER_ADDED } from "../../src/ledger/contract/names.ts";
import { readQuarantines } from "../../src/projections/quarantines.ts";
import { runCommand } from "../commands/run-command.ts";
import { spoilFact } from "../log/damage.ts";
import { eventually, startProgram } from "../service/process.ts";
import { type IndexedDeployment, indexedDeployment } from "./indexed-deployment.ts";
import { stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

let deployment: IndexedDeployment;
beforeAll(async () => {
  deployment = await indexedDeployment(119);
});
afterAll(() => deployment?.[Symbol.asyncDispose]());

const run = (...args: readonly string[]) => runCommand(args, deployment.settings);

const quarantines = () => readQuarantines(deployment.roles.superuser.db);

/** An index that reads a log in which an event behind a checkpoint cannot be read, and the token that it holds. */
const holding = async (after: bigint, isWhole = false) => {
  const { coin } = await spoilFact(deployment.roles.superuser, {
    name: HOLDER_ADDED,
    after,
    isWhole,
  });
  expect(await run("rebuild", "holder_lifecycle", "--yes")).toMatchObject({ code: 0 });
  const index = startProgram(["index"], deployment.settings);
  await eventually("the token to be held", async () => {
    const held = (await quarantines()).map(({ coinType }) => coinType);
    return held.includes(coin) ? { done: held } : { seen: held };
  });
  return { coin, [Symbol.asyncDispose]: () => index[Symbol.asyncDispose]() };
};

const take = (step: readonly Step[], coin: string) =>
  typed(step, { settings: { ...deployment.settings, COIN: coin }, cwd: deployment.folder.path });

test("a held coin is released once the log is mended, or without the fact that can never be applied", async () => {
  const steps = await stepsOfSection("docs/how-to/operations.md", "Releasing a coin");
  {
    await using held = await holding(40n);
    await take(steps.next("Look"), held.coin);
    await take(steps.next("Repair"), held.coin);
    await take(steps.next("Retry"), held.coin);
    expect(await quarantines()).toEqual([]);
    expect(await run("reconcile")).toMatchObject({ code: 0 });
  }
  await using held = await holding(60n, true);
  await take(steps.next("Resolve"), held.coin);
  await take(steps.next("Tell"), held.coin);
  expect(steps.left()).toEqual([]);
  const pack = join(deployment.folder.path, "pack");
  // The ledger has another fact here, so that the chain of all facts is another one.
  const range = ["--from", "30", "--to", "110", "--opening", "signed", "--out", pack];
  const made = await run("audit-pack", "--coin", held.coin, ...range);
  expect(made.code, made.stderr).toBe(0);
  const verified = await run("audit-pack", "verify", pack);
  expect(verified.code, verified.stderr).toBe(0);
  expect(verified.stdout).toMatch(
    /not shown: that the event .* may be left out of holder_lifecycle: .* by Ada Byron, operations: written by/,
  );
  expect(await run("replay", "--share", "1")).toMatchObject({ code: 0 });
}, 240_000);
