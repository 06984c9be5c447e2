/** A corrected projection changes roots that were published: `replay --swap --accept` corrects them. */
import { randomBytes } from "node:crypto";
import { afterEach, beforeAll, expect, test } from "vitest";
import { verifySequence } from "../../client/verify-sequence.ts";
import { type Statement, signedRoot, verifyStatement } from "../../client/verify-statement.ts";
import { assertNoneSince, RootPublishedError } from "../../src/audit/reconcile/replayed-roots.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import {
  publishedRoots2,
  publishedRootsOf,
  publishRoot,
} from "../../src/audit/sequence/published-roots.ts";
import { correctRoots, type WrongRoot } from "../../src/audit/sequence/root-corrections.ts";
import { appendEntry } from "../../src/audit/sequence/sequence.ts";
import {
  publishRoots,
  type Roots,
  RowsReplacedError,
  tableRoots,
} from "../../src/audit/sequence/table-roots.ts";
import type { Sql } from "../../src/database/connect.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { createCapTables } from "../../src/projections/cap-tables.ts";
import { runCommand } from "../commands/run-command.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { misplaceUnit } from "../projections/damage.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "./demo-register.ts";
import { entriesOf, sequenceFaults } from "./sequence-entries.ts";

let register: DemoRegister;
let database: TestDatabase;
let key: DeploymentKey;
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(80);
  return () => register[Symbol.asyncDispose]();
});
afterEach(() => database.close());

const masterKey = randomBytes(32);

const run = (...args: readonly string[]) =>
  runCommand(args, {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  });

const OBJECTS = ["--pipeline", "shared_token_objects", "--share", "1"];
const WHO = ["--by", "Ada Byron, operations", "--why", "one unit was counted for another wallet"];

const rootsAt = async (coinType: string, checkpoint: bigint): Promise<Roots> => {
  const mark = await checkpointMark(database.db, checkpoint);
  if (mark === null) throw new Error(`there is no checkpoint ${checkpoint}`);
  const [coin] = await database.sql<{ decimals: number }[]>`
    select decimals from log_coins where coin_type = ${coinType}`;
  const table = { coinType, decimals: coin?.decimals ?? null, mark, totalSupply: null };
  return tableRoots(database, "demo", table, createCapTables());
};

/** Published before and after checkpoint 50, from which on the rows are wrong, as by a defective projection. */
const misplaced = async (checkpoints: readonly bigint[] = [45n, 55n, 60n]) => {
  database = await copyOf(register.database);
  key = await openDeploymentKey(database, masterKey);
  const [{ chainId = "" } = {}] = await database.sql<{ chainId: string }[]>`
    select chain_id as "chainId" from log_high_water`;
  const publish = async (roots: Roots) => {
    const of = {
      ...roots,
      version1: { ...roots.version1, chainId },
      version2: roots.version2 && { ...roots.version2, chainId },
    };
    await database.transaction(({ sql }) => publishRoots(sql, key, of));
  };
  const { coinType } = await misplaceUnit(database, 50n);
  const wrong = new Map<bigint, Roots>();
  for (const checkpoint of checkpoints) {
    const roots = await rootsAt(coinType, checkpoint);
    wrong.set(checkpoint, roots);
    await publish(roots);
  }
  return { coinType, wrong, chainId, publish };
};

test("roots that a corrected projection changes are listed, and corrected for a name and a reason", async () => {
  const { coinType, wrong } = await misplaced();
  const refused = await run("replay", ...OBJECTS, "--swap", "--accept");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("PublishedRootsError");
  for (const checkpoint of [55, 60])
    expect(refused.stderr).toContain(`${coinType}, checkpoint ${checkpoint}: the published root`);
  expect(refused.stderr).not.toContain("checkpoint 45:");
  for (const who of [
    ["Ada"],
    [" ", "--why", "none"],
    ["A".repeat(201), "--why", "none"],
    ["A\u001b[2J", "--why", "none"],
  ]) {
    const wrong = await run("replay", ...OBJECTS, "--swap", "--accept", "--by", ...who);
    expect(wrong).toMatchObject({ code: 2 });
  }

  const swapped = await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO);
  expect(swapped).toMatchObject({ code: 0 });
  for (const read of [publishedRootsOf, publishedRoots2]) {
    const roots = await read(database, { coinType, limit: 10 });
    expect(roots.map(({ checkpoint }) => checkpoint)).toEqual(["60", "55", "45"]);
    for (const { checkpoint, root, corrections } of roots) {
      const { version1, version2 } = await rootsAt(coinType, BigInt(checkpoint));
      const [made, before] =
        read === publishedRootsOf
          ? [version1, wrong.get(BigInt(checkpoint))?.version1]
          : [version2, wrong.get(BigInt(checkpoint))?.version2];
      expect(root).toBe(made?.root);
      if (checkpoint === "45") expect(corrections).toEqual([]);
      else
        expect(corrections).toMatchObject([
          {
            ...{ from: { root: before?.root }, to: { root } },
            ...{ by: WHO[1], why: WHO[3] },
          },
        ]);
    }
  }
  expect(await sequenceFaults(database.sql)).toEqual([]);
  const entries = await entriesOf(database.sql);
  const verified = await verifySequence(entries, { publicKey: key.publicKey });
  expect(verified.corrections.map(({ checkpoint, version }) => [checkpoint, version])).toEqual(
    expect.arrayContaining([
      ["55", "1"],
      ["55", "2"],
      ["60", "1"],
      ["60", "2"],
    ]),
  );
  expect(verified.corrections.every(({ isPublished }) => isPublished)).toBe(true);
  expect(await run("replay", ...OBJECTS)).toMatchObject({ code: 0 });
  expect(await run("reconcile")).toMatchObject({ code: 0 });
  const checked = await run("verify", "--log");
  expect(checked.stdout).toContain(
    `that published roots of ${coinType} at checkpoints 55, 60 were wrong`,
  );
  expect((await run("acts")).stdout).toContain("one unit was counted for another wallet");
});

test("statements with the former root are refused with the correction's reason, and new ones hold", async () => {
  const { coinType, wrong } = await misplaced();
  const statement = async (...more: readonly string[]): Promise<Statement> => {
    const [{ owner = "" } = {}] = await database.sql<{ owner: string }[]>`
      select owner from token_changes where coin_type = ${coinType} and position < 55000000000
      group by owner having (array_agg(balance_after order by position desc))[1] > 0 limit 1`;
    const of = ["--coin", coinType, "--owner", owner, "--at", "55", ...more];
    const made = await run("statement", ...of);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    return JSON.parse(made.stdout);
  };
  const before = [await statement(), await statement("--statement-version", "1")];
  expect(before[0]?.root).toBe(wrong.get(55n)?.version2?.root);
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO)).toMatchObject({ code: 0 });
  const { entries } = await verifySequence(await entriesOf(database.sql), key);
  for (const former of before) {
    expect(() => verifyStatement(former)).not.toThrow();
    expect(() => verifyStatement(former, { entries })).toThrow(`by ${WHO[1]}: ${WHO[3]}`);
  }
  for (const now of [await statement(), await statement("--statement-version", "1")]) {
    expect(verifyStatement(now, { entries }).root).not.toBe(wrong.get(55n)?.version1.root);
  }
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("a return to the former rows corrects the corrected roots in turn, and not without a reason", async () => {
  const { coinType, wrong } = await misplaced([55n]);
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO)).toMatchObject({ code: 0 });
  const back = ["replay", "swap", "--back", "--pipeline", "shared_token_objects"];
  expect((await run(...back)).stderr).toContain("PublishedRootsError");
  expect(await run(...back, "--accept", ...WHO)).toMatchObject({ code: 0 });
  const [root] = await publishedRootsOf(database, { coinType, limit: 10 });
  expect(root).toMatchObject({ root: wrong.get(55n)?.version1.root });
  expect(root?.corrections.map(({ to }) => to.root)).toEqual([expect.any(String), root?.root]);
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("verify --log finds every correction that the entries before and after it contradict", async () => {
  const { coinType, wrong } = await misplaced([45n, 55n]);
  const { root, total } = wrong.get(55n)?.version2 ?? { root: "", total: "" };
  const first = wrong.get(55n)?.version1 ?? { root: "", total: "" };
  const other = { root: "ab".repeat(32), total };
  const third = { root: "cd".repeat(32), total };
  const of = (from: Value, to: Value, more: Partial<WrongRoot> = {}): WrongRoot => ({
    ...{ coinType, version: "2", checkpoint: "55", from, to },
    ...more,
  });
  const is = { root, total };
  const first1 = { root: first.root, total: first.total };
  const each = async (sql: Sql, roots: readonly WrongRoot[]) => {
    for (const root of roots) await correctRoots(sql, key, [root], SHORT);
  };
  const forged: Readonly<Record<string, readonly WrongRoot[]>> = {
    "never published": [of(is, other, { checkpoint: "56" })],
    "of another coin": [of(is, other, { coinType: `${coinType}2` })],
    "with a wrong former root": [of(other, third)],
    "with a wrong former total": [of({ root, total: "1" }, other)],
    "twice to different roots": [of(is, other), of(is, third)],
    "of a correction, from the root before it": [of(is, other), of(other, third), of(other, is)],
    "of version 1, never published": [of(first1, other, { version: "1", checkpoint: "56" })],
  };
  for (const [name, roots] of Object.entries(forged)) {
    expect([name, await foundAfter((sql) => each(sql, roots))]).toEqual([
      name,
      expect.stringMatching(/^entry \d+ of the sequence corrects /),
    ]);
  }
  // What holds, and what is then published against it, or by hand.
  const right = [of(is, other), of(first1, third, { version: "1" })];
  expect(await foundAfter((sql) => correctRoots(sql, key, right, SHORT))).toBe("");
  const uncorrected = async (sql: Sql) => {
    await correctRoots(sql, key, right, SHORT);
    const version2 = (await entriesOf(sql)).find(
      ({ kind, body }) => kind === "root" && body.checkpoint === "55" && body.version === "2",
    );
    await appendEntry(sql, key, "root", version2?.body ?? {});
    await sql`
      insert into coin_entries (kind, coin_type, checkpoint, number)
      select 'root', ${coinType}, 55, max(number) from log_sequence`;
  };
  expect(await foundAfter(uncorrected)).toContain("which corrects it");
  const bySlip = (sql: Sql) =>
    sql`insert into published_roots
        select coin_type, checkpoint, checkpoint_digest, ${other.root}, total, signature, key_id, signed_at, 99
        from published_roots where checkpoint = 55`;
  expect(await foundAfter(bySlip)).not.toBe("");
  const unlisted = async (sql: Sql) => {
    await correctRoots(sql, key, right, SHORT);
    await sql`set local session_replication_role = replica`;
    await sql`delete from coin_entries where kind in ('corrected', 'corrected1')`;
  };
  expect(await foundAfter(unlisted)).toContain("has no row in coin_entries");
});

test("verify --log names a correction of a checkpoint beyond every log", async () => {
  const { coinType } = await misplaced([55n]);
  const [from, to] = ["ab", "cd"].map((byte) => ({ root: byte.repeat(32), total: "1" }));
  const body = { of: "root", chainId: null, coinType, by: "Eve", why: "none" };
  const roots = [{ version: "2", checkpoint: "9".repeat(30), from, to }];
  const forge = (sql: Sql) =>
    appendEntry(sql, key, "correction", JSON.parse(JSON.stringify({ ...body, roots })));
  expect(await foundAfter(forge)).toContain("is about a checkpoint that is no number");
});

test("a correction of a root from before the sequence is held against that root, and may be taken back", async () => {
  database = await copyOf(register.database);
  key = await openDeploymentKey(database, masterKey);
  const [{ coinType = "" } = {}] = await database.sql<{ coinType: string }[]>`
    select coin_type as "coinType" from token_changes limit 1`;
  const { version1 } = await rootsAt(coinType, 45n);
  const [{ chainId = "" } = {}] = await database.sql<{ chainId: string }[]>`
    select chain_id as "chainId" from log_high_water`;
  const early = { ...version1, chainId };
  const { signature, keyId } = await key.sign(signedRoot(early));
  await database.sql`
    insert into published_roots (coin_type, checkpoint, checkpoint_digest, root, total, signature, key_id)
    values (${coinType}, 45, ${early.checkpointDigest}, ${early.root}, ${early.total}, ${signature}, ${keyId})`;
  const is = { root: early.root, total: early.total };
  const other = { root: "ab".repeat(32), total: early.total };
  const of = (from: Value, to: Value, checkpoint = "45"): WrongRoot => ({
    ...{ coinType, version: "1", checkpoint, from, to },
  });
  const correct = (...roots: readonly WrongRoot[]) =>
    foundAfter(async (sql) => {
      for (const root of roots) await correctRoots(sql, key, [root], SHORT);
    });
  expect(await correct(of(is, other))).toBe("");
  expect(await correct(of(other, is))).toMatch(/^entry \d+ of the sequence corrects /);
  expect(await correct(of(is, other, "46"))).toMatch(/^entry \d+ of the sequence corrects /);
  const back = async (sql: Sql) => {
    await correctRoots(sql, key, [of(is, other)], SHORT);
    await publishRoot(sql, key, { ...early, root: other.root });
    await correctRoots(sql, key, [of(other, is)], SHORT);
    await publishRoot(sql, key, early);
  };
  expect(await foundAfter(back)).toBe("");
});

test("a root that was computed from the former rows is not published after the exchange", async () => {
  const { coinType, publish } = await misplaced([55n]);
  const former = await rootsAt(coinType, 70n);
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO)).toMatchObject({ code: 0 });
  const before = await entriesOf(database.sql);
  await expect(publish(former)).rejects.toThrow(RowsReplacedError);
  expect(await entriesOf(database.sql)).toEqual(before);
  await publish(await rootsAt(coinType, 70n));
  expect(await run("reconcile")).toMatchObject({ code: 0 });
});

test("compare goes by the corrected root of another deployment, even before it is published", async () => {
  database = await copyOf(register.database);
  key = await openDeploymentKey(database, masterKey);
  const [{ coinType = "", chainId = "" } = {}] = await database.sql<
    { coinType: string; chainId: string }[]
  >`
    select coin_type as "coinType", chain_id as "chainId" from tokens, log_high_water
    where tokens.first_checkpoint is not null order by tokens.first_checkpoint limit 1`;
  const right = await rootsAt(coinType, 55n);
  const version1 = { ...right.version1, chainId, root: "ab".repeat(32) };
  await database.transaction(({ sql }) => publishRoot(sql, key, version1));
  const { root, total } = right.version1;
  const one = { coinType, version: "1", checkpoint: "55" } as const;
  const wrong = [{ ...one, from: { root: version1.root, total }, to: { root, total } }];
  await using other = await serveGraphql(database);
  const compare = () =>
    runCommand(["compare", other.url], {
      DATABASE_URL: register.database.url,
      HOLDERBOOK_COMPARE_KEY: other.key,
    });
  expect(await compare()).toMatchObject({ code: 1 });
  await database.transaction(({ sql }) => correctRoots(sql, key, wrong, SHORT));
  expect(await compare()).toMatchObject({ code: 0 });
});

test("a published root that the served rows contradict is corrected, too", async () => {
  const { coinType, publish } = await misplaced([]);
  const roots = await rootsAt(coinType, 45n);
  const wrong = { root: "ab".repeat(32) };
  await publish({
    ...roots,
    version1: { ...roots.version1, ...wrong },
    version2: roots.version2 && { ...roots.version2, ...wrong },
  });
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO)).toMatchObject({ code: 0 });
  // Now the rows are identical, and only a published root is wrong.
  const later = await rootsAt(coinType, 60n);
  await publish({
    ...later,
    version1: { ...later.version1, ...wrong },
    version2: later.version2 && { ...later.version2, ...wrong },
  });
  expect(await run("reconcile")).toMatchObject({ code: 1 });
  expect(await run("replay", ...OBJECTS, "--swap", "--accept", ...WHO)).toMatchObject({ code: 0 });
  expect(await run("reconcile")).toMatchObject({ code: 0 });
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("a root of differing rows that is published while they are compared ends the exchange", async () => {
  const { coinType, wrong } = await misplaced([55n]);
  const at = (checkpoint: bigint) => ({
    ...{ lines: [], wrong: [], others: 0, next: 0n },
    first: new Map([[coinType, checkpoint]]),
  });
  await expect(assertNoneSince(database.sql, at(50n))).rejects.toThrow(RootPublishedError);
  await expect(assertNoneSince(database.sql, at(56n))).resolves.toBeUndefined();
  // So does one that another replay corrected meanwhile.
  const [{ next = 0n } = {}] = await database.sql<{ next: bigint }[]>`
    select next from log_sequence_head`;
  const since = (checkpoint: bigint) => ({ ...at(checkpoint), next });
  await expect(assertNoneSince(database.sql, since(50n))).resolves.toBeUndefined();
  const { root = "", total = "" } = wrong.get(55n)?.version1 ?? {};
  const other = { root: "ab".repeat(32), total };
  const roots = [
    { coinType, version: "1", checkpoint: "55", from: { root, total }, to: other },
  ] as const;
  await database.transaction(({ sql }) => correctRoots(sql, key, roots, SHORT));
  await expect(assertNoneSince(database.sql, since(50n))).rejects.toThrow(RootPublishedError);
});

test("rows are compared again where a root was published meanwhile, and it is corrected, too", async () => {
  const { coinType, chainId } = await misplaced([45n]);
  const { version1, version2, ...rows } = await rootsAt(coinType, 60n);
  const roots = {
    ...{ ...rows, version1: { ...version1, chainId } },
    version2: version2 && { ...version2, chainId },
  };
  const waiting = async () =>
    (
      await database.sql`
        select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and query like 'select from log_sequence_head for update%'`
    ).length;
  const { swap } = await database.transaction(async ({ sql }) => {
    await sql`select from log_sequence_head for update`;
    const swap = run("replay", ...OBJECTS, "--swap", "--accept", ...WHO);
    // Everything was compared by then.
    await expect.poll(waiting, { timeout: 60_000 }).toBeGreaterThan(0);
    await publishRoots(sql, key, roots);
    return { swap };
  });
  expect(await swap).toMatchObject({ code: 0 });
  expect(await publishedRootsOf(database, { coinType, limit: 10 })).toMatchObject([
    { checkpoint: "60", corrections: [{ from: { root: version1.root }, by: WHO[1] }] },
    { checkpoint: "45", corrections: [] },
  ]);
  expect(await run("reconcile")).toMatchObject({ code: 0 });
}, 120_000);

type Value = WrongRoot["to"];
const SHORT = { by: "Eve", why: "none" };
const UNDONE = new Error("rolled back");

/** What the check of the sequence finds after a change, which is then undone. */
const foundAfter = async (change: (sql: Sql) => Promise<unknown>): Promise<string> => {
  let found = "";
  const changed = database.transaction(async ({ sql }) => {
    await change(sql);
    found = (await sequenceFaults(sql)).map(({ what }) => what).join("; ");
    throw UNDONE;
  });
  await expect(changed).rejects.toBe(UNDONE);
  return found;
};
