/** `verify --log`: the log held against its chain, and the facts that do not fit by name. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signedHeads, signHead } from "../../src/audit/sequence/log-heads.ts";
import { completeChains } from "../../src/log/chain.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog, forgetChain } from "../log/damage.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { entriesOf } from "./sequence-entries.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  database = await freshDatabase();
  const ledger = join(folder.path, "ledger");
  const written = ["--checkpoints", "60", "--seed", "7", "--investors", "12"];
  await runCommand(["demo", "write", "--dir", ledger, ...written], {});
  settings = { DATABASE_URL: database.url, LEDGER_SOURCE: `dir:${ledger}` };
  await runCommand(["index", "--last", "59"], settings);
  await signHead(database.sql, await openDeploymentKey(database, randomBytes(32)));
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const verify = (...args: readonly string[]) => runCommand(["verify", "--log", ...args], settings);

test("an untouched log is whole, with its signed head", async () => {
  const { code, stdout } = await verify();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^the log is intact through checkpoint 59: \d+ facts, chained through checkpoint \d+, head of checkpoint \d+ signed 2\S+Z by dep_/,
  );
  const json = JSON.parse((await verify("--json")).stdout);
  expect(json).toMatchObject({ holds: true, through: "59", faults: [] });
  expect(json.head.hash).toMatch(/^[0-9a-f]{64}$/);
});

test("a log is chained when index ends: a later deletion is detected at once", async () => {
  await using indexed = await freshDatabase();
  const own = { ...settings, DATABASE_URL: indexed.url };
  await runCommand(["index", "--last", "30"], own);
  expect(await runCommand(["verify", "--log"], own)).toMatchObject({ code: 0 });
  await alterLog(
    indexed,
    `delete from log_facts where (checkpoint, transaction, kind, index) in
       (select checkpoint, transaction, kind, index from log_facts order by 1 desc, 2, 3, 4 limit 1)`,
  );
  const { code, stdout } = await runCommand(["verify", "--log"], own);
  expect(code).toBe(1);
  expect(stdout).toMatch(/log_facts has|log_facts no fact/);
});

test.each([
  ["the chain", "truncate log_chain", /log_chain is empty, before the log does/],
  [
    "the end of the chain",
    "delete from log_chain where checkpoint = (select max(checkpoint) from log_chain)",
    /log_chain ends at checkpoint \d+, before the log does/,
  ],
  ["the chains of coin types", "truncate log_coin_chain", /log_coin_chain .* before the log does/],
  [
    "the end of a coin type's chain",
    "delete from log_coin_chain where checkpoint > 40",
    /log_coin_chain/,
  ],
  [
    "one row of a coin type's chain",
    "delete from log_coin_chain where ctid = (select min(ctid) from log_coin_chain)",
    /of 0x\S+ that log_coin_chain does not know/,
  ],
  [
    "one hash of a coin type's chain altered",
    "update log_coin_chain set hash = sha256(hash) where ctid = (select min(ctid) from log_coin_chain)",
    /is not the one in log_coin_chain/,
  ],
  ["the chain of blocks", "truncate log_block_chain", /log_block_chain is empty/],
])("a log without %s is not whole", async (_what, statement, words) => {
  const tables = ["log_chain", "log_coin_chain", "log_block_chain"];
  for (const table of tables)
    await database.sql.unsafe(`create table kept_${table} as table ${table}`);
  await alterLog(database, statement);
  try {
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toMatch(words);
  } finally {
    for (const table of tables) {
      await alterLog(database, `truncate ${table}; insert into ${table} table kept_${table}`);
      await database.sql.unsafe(`drop table kept_${table}`);
    }
  }
  expect(await verify()).toMatchObject({ code: 0 });
});

/** An event and an object somewhere in the middle of the log. */
const someFact = async (kind: 0 | 1) => {
  const [fact] = await database.sql<
    { checkpoint: bigint; transaction: number; index: number; name: string; tx_digest: string }[]
  >`
    select checkpoint, transaction, index, name, tx_digest from log_facts
    where kind = ${kind} and contents is not null and checkpoint > 20 order by 1, 2, 3 limit 1`;
  if (fact === undefined) throw new Error("the ledger has no such fact");
  const where = `checkpoint = ${fact.checkpoint} and transaction = ${fact.transaction} and kind = ${kind} and index = ${fact.index}`;
  return { ...fact, where };
};

/** Runs with a changed log, which is put right again. */
const withLog = async (statement: string, work: () => Promise<void>) => {
  await database.sql.unsafe("create table kept as select * from log_facts");
  await alterLog(database, statement);
  try {
    await work();
  } finally {
    await alterLog(database, "delete from log_facts; insert into log_facts select * from kept");
    await database.sql.unsafe("drop table kept");
  }
};

test("a deleted fact is named, with a configured or a given source", async () => {
  const { checkpoint, transaction, index, name, tx_digest, where } = await someFact(0);
  await withLog(`delete from log_facts where ${where}`, async () => {
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^checkpoint ${checkpoint}: log_facts has`));
    const fact = `event ${name} of transaction ${transaction} (${tx_digest}), index ${index}`;
    expect(stdout).toContain(`  ${fact}: missing in log_facts\n`);
    const without = await verify(
      "--source",
      `dir:${join(folder.path, "nowhere")}`,
      "--retry-for",
      "0",
    );
    expect(without).toMatchObject({ code: 1 });
    expect(without.stdout).toContain("not compared with the ledger: --source (");
  });
});

test("altered bytes and an added fact are all named in one run", async () => {
  const object = await someFact(1);
  const statement = `
    update log_facts set contents = set_byte(contents, 5, 1 + get_byte(contents, 5) % 255) where ${object.where};
    insert into log_facts select checkpoint, transaction + 9000, kind, index, timestamp_ms, type, name,
      coin_type, tx_digest, sender, object_id, version, contents from log_facts
    where checkpoint = (select max(checkpoint) from log_facts) limit 1`;
  await withLog(statement, async () => {
    const { code, stdout } = await verify("--json");
    expect(code).toBe(1);
    const { holds, faults } = JSON.parse(stdout);
    expect(holds).toBe(false);
    expect(faults).toHaveLength(2);
    expect(faults[0].checkpoint).toBe(`${object.checkpoint}`);
    expect(faults[0].facts).toEqual([
      expect.stringMatching(
        `^object ${object.name} of transaction ${object.transaction} .*: contents is [0-9a-f]+.*, the ledger has`,
      ),
    ]);
    expect(faults[1].facts).toEqual([expect.stringContaining("added, the ledger has none")]);
  });
  expect(await verify()).toMatchObject({ code: 0 });
});

test("files kept elsewhere are compared with the log: a log rechained over other facts is detected", async () => {
  const kept = join(folder.path, "kept.json");
  const lines = join(folder.path, "kept.jsonl");
  const heads = await signedHeads(database.sql, 10);
  const page = {
    chainId: null,
    heads: heads.map(({ checkpoint, hash }) => ({ checkpoint: `${checkpoint}`, hash })),
  };
  await writeFile(kept, JSON.stringify(page));
  const entries = await entriesOf(database.sql);
  await writeFile(lines, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const whole = await verify("--head", kept, lines);
  expect(whole, whole.stdout).toMatchObject({ code: 0 });
  expect(whole.stdout).toMatch(/^all 3 kept heads and entries match$/m);
  expect((await verify()).stdout).toMatch(/^taken on faith: that .* were not recomputed \(--head/m);

  // Everything that is signed is gone, and what was changed is chained anew.
  await using anew = await freshDatabase();
  const own = { ...settings, DATABASE_URL: anew.url };
  await runCommand(["index", "--last", "59"], own);
  const sender = `0x${"0".repeat(64)}`;
  await alterLog(anew, `update log_facts set sender = '${sender}' where checkpoint = 21`);
  await forgetChain(anew);
  await completeChains(anew);
  expect(await runCommand(["verify", "--log"], own)).toMatchObject({ code: 0 });
  for (const file of [kept, lines]) {
    const { code, stdout } = await runCommand(["verify", "--log", "--head", file], own);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /kept\.jsonl?, number \d \((head|entry 1)\) has another hash than log_chain/,
    );
  }
  const replaced = await runCommand(["verify", "--log", "--head", lines], own);
  expect(replaced.stdout).toMatch(/entry 1\) was kept, but the sequence has none of that number/);
});

test.each([
  ["empty", "", /is empty/],
  ["no JSON", "{", /line 1 is no JSON/],
  ["something else", '{"a": 1}', /is neither a head nor an entry/],
  [
    "a head with a wrong hash",
    '{"checkpoint": "3", "hash": "00"}',
    /is neither a head nor an entry/,
  ],
])("a kept file that is %s is refused by name", async (_what, text, words) => {
  const file = join(folder.path, "refused.json");
  await writeFile(file, text);
  const { code, stderr } = await verify("--head", file);
  expect(code).toBe(2);
  expect(stderr).toMatch(words);
  expect(stderr).toContain("refused.json");
});

test("it runs without files and without a range", async () => {
  expect(await verify("some.chk")).toMatchObject({ code: 2 });
  expect(await verify("--from", "3")).toMatchObject({ code: 2 });
});
