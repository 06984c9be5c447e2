/** Old facts leave the database for an archive and come back; what needs them meanwhile refuses. */
import { randomBytes } from "node:crypto";
import { appendFile, cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attachFacts } from "../../src/archive/attach-facts.ts";
import { detachFacts } from "../../src/archive/detach-facts.ts";
import { exportLog } from "../../src/archive/export-log.ts";
import { allActs } from "../../src/audit/sequence/acts.ts";
import { createChainEntries } from "../../src/audit/sequence/chain-entries.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { entriesAfter } from "../../src/audit/sequence/sequence.ts";
import { verifyLog } from "../../src/audit/verify/verify-log.ts";
import { rowsCheck } from "../../src/audit/watch/rows-check.ts";
import { checkStretch } from "../../src/log/check-chain.ts";
import { requireFacts } from "../../src/log/facts-archived.ts";
import { partitionsOf } from "../../src/log/partitions.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "../audit/demo-register.ts";
import { loseAct } from "../audit/lost-act.ts";
import { runCommand } from "../commands/run-command.ts";
import { rowsOfLog } from "../log/contents.ts";
import {
  changeArchived,
  divideFacts,
  firstFact,
  loseArchived,
  sayArchived,
} from "../log/facts-partitions.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { setHeld, setNoneHeld, setWatermark } from "../projections/set-watermark.ts";
import { temporaryFolder } from "../service/process.ts";

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let dir: string;
const { signal } = new AbortController();
const masterKey = randomBytes(32).toString("base64");

beforeAll(async () => {
  [register, folder] = await Promise.all([demoRegister(), temporaryFolder()]);
  await divideFacts(register.database, 40n, 80n);
  await register.advance(120);
  dir = join(folder.path, "archive");
  // Files that end at no border.
  const limits = { maxFacts: 100, maxBytes: 10_000_000, maxCheckpoints: 7 };
  await exportLog(register.database, { folder: dir, limits, signal });
});
afterAll(async () => {
  await register[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const run = (database: TestDatabase, ...args: string[]) =>
  runCommand(args, { DATABASE_URL: database.url, CALLBACK_MASTER_KEY: masterKey });

const quietly = { signal, onBlocked: () => {}, onProgress: () => {} };

const detach = async (database: TestDatabase, before: bigint, from = dir) => {
  await using session = await database.session();
  return await detachFacts({ on: session, folder: from, before, ...quietly });
};

const attach = async (database: TestDatabase, from = dir) => {
  await using session = await database.session();
  return await attachFacts({ on: session, folder: from, ...quietly });
};

const historyOf = async ({ url, key }: { readonly url: string; readonly key: string }) => {
  const answer = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ query: "{ _meta { historyCheckpoint } }" }),
  });
  return (await answer.json()).data._meta.historyCheckpoint;
};

test("facts that were archived and attached again are the same to the byte, and the history rises and falls back", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  await using graphql = await serveGraphql(database);
  const [before, register0] = [await rowsOfLog(database), await projectedRows(database)];
  const partitions = await partitionsOf(database.sql);
  expect(await historyOf(graphql)).toBe("0");

  const out = await run(database, "archive", "detach", "--dir", dir, "--before", "80");
  expect(out).toMatchObject({ code: 0, stderr: "" });
  expect(out.stdout).toMatch(/^\d+ facts of 2 partitions are in /);
  expect(await historyOf(graphql)).toBe("80");
  expect(await firstFact(database)).toBeGreaterThanOrEqual(80n);

  const checked = await verifyLog(database, { asked: false, trusted: null }, signal);
  expect(checked.faults).toEqual([]);
  for (const range of ["0 to 39", "40 to 79"]) {
    const says = new RegExp(
      `^facts and input versions of checkpoints ${range}, which are archived`,
    );
    expect(checked.beyond).toContainEqual(expect.stringMatching(says));
  }
  expect(await projectedRows(database)).toEqual(register0);

  const back = await run(database, "archive", "attach", "--dir", dir);
  expect(back).toMatchObject({ code: 0, stderr: "" });
  expect(back.stdout).toMatch(/^checkpoints 40 to 79: \d+ facts are back\ncheckpoints 0 to 39: /);
  expect(await historyOf(graphql)).toBe("0");
  expect(await rowsOfLog(database)).toEqual(before);
  expect(await partitionsOf(database.sql)).toEqual(partitions);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
  for (const { name } of partitions) {
    await expect(database.sql.unsafe(`delete from ${name}`)).rejects.toThrow("append-only");
  }
  const { stdout } = await run(database, "reconcile");
  expect(stdout).not.toMatch(/log_facts/);
  const acts = [];
  for await (const act of allActs(database.sql)) acts.push(act);
  expect(acts.map(({ command }) => command)).toEqual([
    "archive detach",
    "archive attach",
    "archive attach",
  ]);
});

test("what needs archived facts is refused by a message with the border and the command that brings them back, and changes nothing", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  // Makes partitions ahead, in months: later than these borders of a test.
  await copy.advance(1);
  const rows = await projectedRows(database);
  await detach(database, 40n);
  const says =
    /the facts before checkpoint 40 are archived, and those from checkpoint \d+ on are needed; `holderbook archive attach --dir FOLDER` brings them back/;
  for (const args of [
    ["rebuild", "role_changes", "--yes"],
    ["rebuild", "role_changes"],
    ["replay"],
    ["reconcile"],
    ["reconcile", "--at", "100"],
    // Also where everything that is asked for is archived.
    ["reconcile", "--at", "20"],
    ["prove", "complete", "--through", "20"],
    ["archive", "export", "--dir", join(folder.path, "whole")],
    ["archive", "export", "--dir", join(folder.path, "first"), "--to", "30"],
  ]) {
    const { code, stderr } = await run(database, ...args);
    expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: expect.stringMatching(says) });
    expect(stderr, "without a stack").not.toMatch(/\n\s+at /);
  }
  expect(await projectedRows(database)).toEqual(rows);
  // The service goes on, and its check that replays the log waits.
  await copy.advance(20);
  expect(await rowsCheck(0).next(database)).toEqual({ ended: true });
  const later = ["archive", "export", "--dir", join(folder.path, "later"), "--from", "40"];
  expect(await run(database, ...later)).toMatchObject({ code: 0 });
});

test("facts that something still needs, and those that no archive has, are not archived", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  await expect(detach(database, 50n)).rejects.toThrow("those before the log's end end at 40, 80");
  await expect(detach(database, 40n, join(folder.path, "none"))).rejects.toThrow("there is none");
  const short = join(folder.path, "short");
  await exportLog(database, { folder: short, to: 60n, signal });
  await expect(detach(database, 80n, short)).rejects.toThrow(
    "does not have checkpoints 0 to 79; run `holderbook archive export --dir",
  );
  const mark = (sequence: bigint) => ({ sequence, digest: "d", timestampMs: 1n });
  await setWatermark(database, roleChangesWatermark, mark(38n));
  await expect(detach(database, 40n)).rejects.toThrow("role_changes expects checkpoint 39 next");
  await setWatermark(database, roleChangesWatermark, mark(119n));
  await setHeld(database, roleChangesWatermark, "0x1::a::A", { from: 12n, reason: "none" });
  await expect(detach(database, 40n)).rejects.toThrow("since checkpoint 12");
  await setNoneHeld(database, roleChangesWatermark);
  await database.sql`create view own_view as select * from log_facts_from_0`;
  await expect(detach(database, 40n)).rejects.toThrow(
    "view own_view depends on table log_facts_from_0; drop it, and make it again on public.log_facts",
  );
  expect(await partitionsOf(database.sql)).toHaveLength(4);
  await database.sql`drop view own_view`;
  await detach(database, 40n);
});

test("an archive that was edited, or is another log's, gives nothing back", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  await detach(database, 80n);
  const edited = join(folder.path, "edited");
  await cp(dir, edited, { recursive: true });
  const [file = ""] = (await readdir(edited)).filter((name) => /0[5-7]\d\.binpb\.zst$/.test(name));
  await appendFile(join(edited, file), "x");
  const rows = await rowsOfLog(database);
  await expect(attach(database, edited)).rejects.toMatchObject({ name: "ArchiveDamagedError" });
  await using other = await demoRegister({ seed: 99 });
  await other.advance(120);
  const foreign = join(folder.path, "foreign");
  await exportLog(other.database, { folder: foreign, signal });
  await expect(attach(database, foreign)).rejects.toMatchObject({ name: "ArchiveRefusedError" });
  expect(await rowsOfLog(database)).toEqual(rows);
  await expect(requireFacts(database.sql, 79n)).rejects.toMatchObject({
    name: "FactsArchivedError",
  });
  await attach(database);
  await requireFacts(database.sql, 0n);
});

test("facts are archived and attached while the log grows and is read", async () => {
  await using copy = await register.copy();
  await using calm = await register.copy();
  const { database } = copy;
  // Partitions made ahead cover months: these borders of a test are detached within the one that is appended to.
  await Promise.all([copy.advance(1), calm.advance(1)]);
  let ended = false;
  const growing = (async () => {
    let steps = 0;
    for (; !ended || steps < 20; steps += 1) {
      await copy.advance(1);
      await setImmediate();
    }
    return steps;
  })();
  for (let round = 0; round < 3; round += 1) {
    await detach(database, round % 2 === 0 ? 80n : 40n);
    await attach(database);
  }
  ended = true;
  await calm.advance(await growing);
  const [log, expected] = [await rowsOfLog(database), await rowsOfLog(calm.database)];
  expect(log.log_facts).toEqual(expected.log_facts);
  expect(log.log_chain).toEqual(expected.log_chain);
  expect(await projectedRows(database)).toEqual(await projectedRows(calm.database));
});

test("what is said of archived facts is held against the chain and the facts that are there", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  await detach(database, 40n);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null });
  const fault = async () => (await checkStretch(database.sql, -1n)).fault?.what;
  await sayArchived(database, 0, 40, "facts + 1", "hash");
  expect(await fault()).toMatch(/counts \d+ facts of 0 to 39/);
  await sayArchived(database, 0, 40, "facts - 1", "'\\x00'");
  expect(await fault()).toMatch(/the hash that log_archived has of 0 to 39/);
  await sayArchived(database, 0, 40, "facts", "hash");
  expect(await fault()).toBeUndefined();
  await sayArchived(database, 40, 80, "0", "hash");
  expect(await fault()).toMatch(/40 to 79 are archived, but log_facts has facts of them/);
});

const faultsOf = async (database: TestDatabase) => {
  const { faults } = await verifyLog(database, { asked: false, trusted: null }, signal, 1_000);
  return faults.map(({ what }) => what);
};

test("verify --log names archived facts without an operator's act, and an act without its rows", async () => {
  await using copy = await register.copy();
  await detach(copy.database, 40n);
  await detach(copy.database, 80n);
  expect(await faultsOf(copy.database)).toEqual([]);
  const lies: readonly [(of: TestDatabase) => Promise<unknown>, RegExp][] = [
    [(of) => loseAct(of, 2), /row \d+ of log_archived says that .* 40 to 79/],
    [(of) => loseArchived(of, 40), /rows of act 2 .*archive detach/],
    [(of) => changeArchived(of, 0, "root = 'x'"), /rows of act 1 .*archive detach/],
    [(of) => changeArchived(of, 40, "event = 'x'"), /rows of act 2 .*archive detach/],
  ];
  for (const [lie, says] of lies) {
    await using altered = await copyOf(copy.database);
    await lie(altered);
    expect(await faultsOf(altered)).toContainEqual(expect.stringMatching(says));
  }
  await attach(copy.database);
  expect(await faultsOf(copy.database)).toEqual([]);
  await loseArchived(copy.database, 40);
  expect(await faultsOf(copy.database)).toContainEqual(
    expect.stringMatching(/rows of act 3 .*archive attach/),
  );
});

test("the log's ends are signed also where those of archived facts never were", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  await detach(database, 80n);
  const key = await openDeploymentKey(database, Buffer.from(masterKey, "base64"));
  const entries = createChainEntries(key);
  while (!(await entries.next(database)).ended);
  expect(await database.transaction(({ sql }) => signHead(sql, key))).toMatchObject({
    keyId: key.keyId,
  });
  const kinds = (await entriesAfter({ sql: database.sql }, -1n, 100)).map(({ kind }) => kind);
  expect(kinds).toEqual(["key", "blocks", "inputs", "head"]);
  expect(await faultsOf(database)).toEqual([]);
  await attach(database);
  expect(await faultsOf(database)).toEqual([]);
});

test("facts archived during a check of all rows end it, and its tables are dropped", async () => {
  await using copy = await register.copy();
  const { database } = copy;
  const check = rowsCheck(0);
  await check.next(database);
  const folded = () =>
    database.sql`select from pg_class where relnamespace = 'holderbook_folded'::regnamespace`;
  expect((await folded()).length).toBeGreaterThan(0);
  await detach(database, 40n);
  expect(await check.next(database)).toEqual({ ended: true });
  expect(await folded()).toEqual([]);
});
