/** `holderbook replay` and `rebuild`, as an operator uses them on rows that somebody changed. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeAll, expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { makeTables } from "../../src/pipelines/replay/tables.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { running } from "../pipelines/running.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { raiseBalance } from "../projections/damage.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";
import { publishOtherRoot } from "./other-root.ts";

let register: DemoRegister;
let database: TestDatabase;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(80);
  return () => register[Symbol.asyncDispose]();
});
afterEach(() => database.close());

const GROUP = "shared_token_objects, timelock_objects";
const OBJECTS = ["--pipeline", "shared_token_objects", "--share", "1"];

const run = (...args: readonly string[]) => runCommand(args, { DATABASE_URL: database.url });

/** A copy of the register in which one balance was raised; its rows before that. */
const damaged = async () => {
  database = await copyOf(register.database);
  const right = await projectedRows(database);
  const owner = await raiseBalance(database);
  return { right, wrong: await projectedRows(database), owner };
};

test("differing rows are shown and served only on request, and the former ones again until they are dropped", async () => {
  const { right, wrong, owner } = await damaged();
  const compared = await run("replay", ...OBJECTS, "--swap");
  expect(compared).toMatchObject({ code: 1, stderr: "" });
  expect(compared.stdout).toContain("balances: 1\n");
  expect(compared.stdout).toContain(`owner ${owner}: tokenBalance is `);
  expect(await projectedRows(database)).toEqual(wrong);

  const swapped = await run("replay", ...OBJECTS, "--swap", "--accept");
  expect(swapped.code).toBe(0);
  expect(swapped.stderr).toContain(`${GROUP}: the replayed rows are served`);
  expect(await projectedRows(database)).toEqual(right);
  expect(await run("replay")).toMatchObject({ code: 0 });

  const back = await run("replay", "swap", "--back", "--pipeline", "timelock_objects");
  expect(back).toMatchObject({ code: 0, stderr: `${GROUP}: the former rows are served again\n` });
  expect(await projectedRows(database)).toEqual(wrong);

  expect(await run("replay", "drop")).toMatchObject({ code: 0 });
  const none = await run("replay", "swap", "--back", "--pipeline", "timelock_objects");
  expect(none.code).toBe(1);
  expect(none.stderr).toContain(`NoFormerTablesError: ${GROUP}: holderbook_before has no former`);
  expect(await projectedRows(database)).toEqual(wrong);
});

test("rebuild replaces changed rows without emptying the pipeline", async () => {
  const { right, owner } = await damaged();
  const rebuilt = await run("rebuild", "timelock_objects");
  expect(rebuilt.code).toBe(0);
  expect(rebuilt.stdout).toContain(`owner ${owner}: tokenBalance is `);
  expect(await projectedRows(database)).toEqual(right);
});

test("a return that is refused leaves the former rows aside, and a rebuild after it makes the right ones", async () => {
  const { right } = await damaged();
  expect(await run("rebuild", "timelock_objects")).toMatchObject({ code: 0 });
  const [coinType = ""] = register.model.coins.keys();
  await openDeploymentKey(database, randomBytes(32));
  await publishOtherRoot(database, { coinType, checkpoint: 40n });
  const back = ["replay", "swap", "--back", "--pipeline", "timelock_objects"];
  expect((await run(...back)).stderr).toContain("PublishedRootsError");
  expect((await run(...back)).stderr).toContain("PublishedRootsError");
  await alterLog(database, "delete from published_roots");
  expect(await run("rebuild", "timelock_objects")).toMatchObject({ code: 0 });
  expect(await projectedRows(database)).toEqual(right);
});

test("emptying a pipeline removes the former rows, and a replay meanwhile ends no refusal", async () => {
  const { right } = await damaged();
  expect(await run("rebuild", "timelock_objects")).toMatchObject({ code: 0 });
  expect(await run("rebuild", "timelock_objects", "--yes")).toMatchObject({ code: 0 });
  const back = await run("replay", "swap", "--back", "--pipeline", "timelock_objects");
  expect(back.stderr).toContain("NoFormerTablesError");
  const rebuilding = async () =>
    (await readWatermarks(database.db, ledgerPipelines)).pipelines.map((one) => one.rebuildingTo);
  expect(await rebuilding()).toContain(79n);
  expect(await run("replay", ...OBJECTS, "--swap")).toMatchObject({ code: 0 });
  expect(await rebuilding()).toContain(79n);
  await using _run = running(database, ledgerPipelines);
  await expect.poll(async () => (await rebuilding()).every((to) => to === null)).toBe(true);
  expect(await projectedRows(database)).toEqual(right);
});

test("rows that contradict a published root are not served", async () => {
  const { wrong } = await damaged();
  const [coinType = ""] = register.model.coins.keys();
  await openDeploymentKey(database, randomBytes(32));
  await publishOtherRoot(database, { coinType, checkpoint: 40n });
  // Another pipeline's replay, ended early: what it has does not hide the root.
  const { sql } = database;
  for (const pipeline of ledgerPipelines.filter(({ name }) => name === "role_changes")) {
    await makeTables(sql, pipeline);
  }
  await sql`insert into holderbook_replay.role_changes_watermark select * from role_changes_watermark`;
  await sql`update holderbook_replay.role_changes_watermark set next_checkpoint = 3, last_checkpoint = 2`;
  const refused = await run("replay", ...OBJECTS, "--swap", "--accept");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`PublishedRootsError: ${GROUP}: the replayed rows contradict`);
  expect(refused.stderr).toContain(`${coinType}, checkpoint 40: the published root is `);
  expect(await projectedRows(database)).toEqual(wrong);
});
