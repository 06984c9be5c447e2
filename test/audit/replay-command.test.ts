/** `holderbook replay` and `rebuild`, as an operator uses them on rows that somebody changed. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeAll, expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { makeTables } from "../../src/pipelines/replay/tables.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { readReplays } from "../../src/projections/replays.ts";
import { runCommand } from "../commands/run-command.ts";
import { until } from "../lanes/until.ts";
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
  const states = (await readReplays(database.db)).map(({ pipeline, state }) => [pipeline, state]);
  expect(Object.fromEntries(states)).toEqual({
    ...{ shared_token_objects: "swapped", timelock_objects: "swapped" },
    ...{ token_activity: "dropped", holder_lifecycle: "dropped", role_changes: "dropped" },
  });
  const none = await run("replay", "swap", "--back", "--pipeline", "timelock_objects");
  expect(none.code).toBe(1);
  expect(none.stderr).toContain(`NoFormerTablesError: ${GROUP}: holderbook_before has no former`);
  expect(await projectedRows(database)).toEqual(wrong);
});

test("a return gives the former tables the rights that roles have by then, and names what stays on the exchanged ones", async () => {
  await damaged();
  const { sql } = database;
  expect(await run("rebuild", "timelock_objects")).toMatchObject({ code: 0 });
  const role = `reader_${randomBytes(4).toString("hex")}`;
  await sql.unsafe(`create role ${role}`);
  await using _role = {
    [Symbol.asyncDispose]: async () => {
      await sql.unsafe(`drop owned by ${role}`);
      await sql.unsafe(`drop role ${role}`);
    },
  };
  await sql.unsafe(`
    grant select, insert on balances to ${role};
    revoke select on holderbook_before.timelock_objects from public;
    grant select on holderbook_before.timelock_objects to ${role};
    create view holders_of_ours as select * from balances;
    create materialized view counted as select count(*) from timelock_objects;
    create publication ours for table balances`);
  const back = await run("replay", "swap", "--back", "--pipeline", "timelock_objects");
  expect(back.code).toBe(0);
  expect(back.stderr).toContain(
    "materialized view counted of timelock_objects; publication ours of balances; view holders_of_ours of balances: made on the former tables",
  );
  const drop = await run("replay", "drop");
  expect(drop.code).toBe(1);
  expect(drop.stderr).toContain("FormerTablesInUseError: cannot drop table holderbook_before.");
  expect(drop.stderr).toContain(
    "materialized view public.counted depends on table holderbook_before.timelock_objects",
  );
  await sql.unsafe("drop view holders_of_ours; drop materialized view counted");
  expect(await run("replay", "drop")).toMatchObject({ code: 0 });
  const rights = await sql`
    select relname as table, privilege_type as right from pg_class, aclexplode(relacl)
    where grantee = ${role}::regrole and relnamespace = 'public'::regnamespace order by 2`;
  expect(rights).toEqual([
    { table: "balances", right: "INSERT" },
    { table: "balances", right: "SELECT" },
  ]);
});

test("while a long reader keeps the exchange waiting, the command says which session it is, without its query", async () => {
  const { right } = await damaged();
  const { sql } = database;
  await using reader = await database.session();
  let swapped: ReturnType<typeof run> | undefined;
  await reader.transaction(async (tx) => {
    const [own] = await tx.sql<{ pid: number }[]>`
      select pg_backend_pid() as pid, count(*) from balances where owner <> 'a secret'`;
    const done = run("rebuild", "timelock_objects");
    swapped = done.then((ran) => {
      expect(ran.stderr).toMatch(
        `waits for database sessions: ${own?.pid} (test, idle in transaction, query of `,
      );
      return ran;
    });
    const isWaiting = async () => {
      const [row] = await sql`
        select pid from pg_locks where not granted and mode = 'AccessExclusiveLock'
          and relation = 'public.balances'::regclass`;
      return row !== undefined;
    };
    for (const what of [true, false, true]) {
      await until(`the exchange to wait: ${what}`, isWaiting, (is) => is === what);
    }
  });
  const ran = await swapped;
  expect(ran).toMatchObject({ code: 0 });
  expect(ran?.stderr).not.toContain("secret");
  expect(await projectedRows(database)).toEqual(right);
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
    await makeTables(sql, [pipeline]);
  }
  await sql`insert into holderbook_replay.role_changes_watermark select * from role_changes_watermark`;
  await sql`update holderbook_replay.role_changes_watermark set next_checkpoint = 3, last_checkpoint = 2`;
  const refused = await run("replay", ...OBJECTS, "--swap", "--accept");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`PublishedRootsError: ${GROUP}: the replayed rows contradict`);
  expect(refused.stderr).toContain(`${coinType}, checkpoint 40: the published root is `);
  expect(await projectedRows(database)).toEqual(wrong);
});
