// @module-tag thorough
/** `verify --log --mend`: damaged rows of the log are replaced by those of the ledger, proven and recorded. */
import { randomBytes } from "node:crypto";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { allActs } from "../../src/audit/sequence/acts.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { logCheck } from "../../src/audit/watch/log-check.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { completeChains } from "../../src/log/chain.ts";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { runCommand } from "../commands/run-command.ts";
import { rowsOfLog } from "../log/contents.ts";
import { alterLog, forgetChain } from "../log/damage.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";

const LAST = 100;

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: LAST + 20, seed: 3, format: "binpb", epochLength: 40 });
  settings = {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${dir}`,
    COMMITTEE_FILE: join(dir, "ledger.json"),
    DATA_DIR: join(folder.path, "data"),
  };
  expect(await runCommand(["index", "--last", "60"], settings)).toMatchObject({ code: 0 });
  expect(await runCommand(["index", "--last", `${LAST}`], settings)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const MEND = ["verify", "--log", "--mend", "--by", "Ada Byron", "--because", "a disk went bad"];

/** A damaged copy of the log, and the commands on it. */
const damaged = async (statement: string, more: Readonly<Record<string, string>> = {}) => {
  const own = await copyOf(database);
  const at = { ...settings, DATABASE_URL: own.url, ...more };
  const whole = await rowsOfLog(own);
  await alterLog(own, statement);
  const run = (...args: readonly string[]) => runCommand(args, at);
  return {
    database: own,
    settings: at,
    whole,
    run,
    verify: () => run("verify", "--log"),
    mend: (...args: readonly string[]) => run(...MEND, "--retry-for", "0", ...args),
    acts: async () => {
      const acts = [];
      for await (const act of allActs(own.sql)) {
        if (act.command === "verify") acts.push(act);
      }
      return acts;
    },
    [Symbol.asyncDispose]: () => own.close(),
  };
};

/** A row in the middle of a table. */
const some = (table: string, order: string, where = "true", offset = 3) =>
  `ctid = (select ctid from ${table} where ${where} order by ${order} limit 1 offset ${offset})`;
const FACT = "checkpoint, transaction, kind, index";
const PLACE = "checkpoint, transaction, index";
const alter = (column: string) => `${column} = set_byte(${column}, 3, get_byte(${column}, 3) # 1)`;

test.each([
  [
    "a fact's bytes",
    `update log_facts set ${alter("contents")} where ${some("log_facts", FACT, "contents is not null and checkpoint > 20")}`,
  ],
  [
    "a fact's sender",
    `update log_facts set sender = '0xbad' where ${some("log_facts", FACT, "checkpoint > 20")}`,
  ],
  ["a deleted fact", `delete from log_facts where ${some("log_facts", FACT, "checkpoint > 20")}`],
  [
    "all facts of a checkpoint deleted",
    `delete from log_facts where checkpoint = (select checkpoint from log_chain order by 1 offset 9 limit 1)`,
  ],
  [
    "an added fact",
    `insert into log_facts select checkpoint, transaction + 90, kind, index, timestamp_ms, type, name, coin_type, tx_digest, sender, object_id, version, contents from log_facts where ${some("log_facts", FACT, "checkpoint > 20")}`,
  ],
  [
    "facts of the last checkpoint",
    `update log_facts set sender = '0xbad' where checkpoint = (select max(checkpoint) from log_facts)`,
  ],
  [
    "a checkpoint's row deleted",
    `delete from log_checkpoints where ${some("log_checkpoints", "checkpoint")}`,
  ],
  [
    "a checkpoint's digest",
    `update log_checkpoints set digest = (select max(digest) from log_checkpoints) where ${some("log_checkpoints", "checkpoint")}`,
  ],
  [
    "a checkpoint's total",
    `update log_checkpoints set facts_total = facts_total + 1 where ${some("log_checkpoints", "checkpoint")}`,
  ],
  [
    "an input's version",
    `update log_inputs set version = version + 1 where ${some("log_inputs", PLACE, "version is not null")}`,
  ],
  ["a deleted input", `delete from log_inputs where ${some("log_inputs", PLACE)}`],
  [
    "a block's digests",
    `update log_blocks set ${alter("digests")} where ${some("log_blocks", "first_checkpoint", "true", 1)}`,
  ],
  [
    "a block's times",
    `update log_blocks set ${alter("times")} where ${some("log_blocks", "first_checkpoint", "true", 0)}`,
  ],
  [
    "a deleted block",
    `delete from log_blocks where ${some("log_blocks", "first_checkpoint", "true", 0)}`,
  ],
  [
    "the last block's digests",
    `update log_blocks set ${alter("digests")} where ${some("log_blocks", "first_checkpoint desc", "true", 0)}`,
  ],
  [
    "an added block",
    `insert into log_blocks select first_checkpoint + 3, 1, substring(times for 8), substring(digests for 32), reached_ms, filled from log_blocks where ${some("log_blocks", "first_checkpoint", "true", 0)}`,
  ],
  [
    "a link of all facts",
    `update log_chain set ${alter("hash")} where ${some("log_chain", "checkpoint")}`,
  ],
  ["a deleted link of all facts", `delete from log_chain where ${some("log_chain", "checkpoint")}`],
  [
    "a link of a coin",
    `update log_coin_chain set ${alter("hash")} where ${some("log_coin_chain", "coin_type, checkpoint")}`,
  ],
  [
    "a deleted link of a coin",
    `delete from log_coin_chain where ${some("log_coin_chain", "coin_type, checkpoint")}`,
  ],
  [
    "a link of inputs",
    `update log_input_chain set ${alter("hash")} where ${some("log_input_chain", "checkpoint")}`,
  ],
  [
    "a link of blocks",
    `update log_block_chain set ${alter("hash")} where ${some("log_block_chain", "first_checkpoint", "true", 0)}`,
  ],
])("%s is mended: the log is what it was, to the byte", async (_what, statement) => {
  await using own = await damaged(statement);
  expect(await own.verify()).toMatchObject({ code: 1 });
  const { code, stdout, stderr } = await own.mend();
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^mended: checkpoint \d+, log_\w+: .* (?:replaced|added|removed)$/m);
  expect(await rowsOfLog(own.database)).toEqual(own.whole);
  expect(await own.verify()).toMatchObject({ code: 0 });
  expect(await own.acts()).not.toEqual([]);
});

test("a fact altered together with its link is mended, too, and the act says which rows, by whom and why", async () => {
  await using own = await damaged(
    `update log_facts set sender = '0xbad' where checkpoint = (select checkpoint from log_chain order by 1 offset 9 limit 1);
     update log_chain set ${alter("hash")} where ${some("log_chain", "checkpoint", "true", 9)}`,
  );
  const { code, stdout } = await own.mend("--json");
  expect(code).toBe(0);
  expect(await rowsOfLog(own.database)).toEqual(own.whole);
  const acts = await own.acts();
  const { mended } = JSON.parse(stdout);
  expect(acts.map(({ details }) => details.table)).toEqual(["log_facts", "log_chain"]);
  expect(acts[0]).toMatchObject({
    scope: "deployment",
    details: {
      checkpoint: mended[0].checkpoint,
      rows: expect.stringMatching(/^event 0 of transaction \d+ replaced, /),
      former: expect.stringMatching(/^[0-9a-f]{64}$/),
      mended: expect.stringMatching(/^[0-9a-f]{64}$/),
      source: "folder",
      verified: "signatures",
      by: "Ada Byron",
      because: "a disk went bad",
    },
  });
});

test("many damages in many tables are mended in one run", async () => {
  await using own = await damaged(
    `update log_facts set sender = '0xbad' where checkpoint % 3 = 0;
     delete from log_inputs where checkpoint % 4 = 1;
     delete from log_checkpoints where checkpoint % 5 = 2;
     update log_blocks set ${alter("digests")};
     delete from log_coin_chain where checkpoint % 7 = 3`,
  );
  const { code, stderr } = await own.mend();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(await rowsOfLog(own.database)).toEqual(own.whole);
});

test("the fault that the service's own check found is over when the log is intact again", async () => {
  await using own = await damaged(ALTERED);
  const check = logCheck();
  while (!(await check.next(own.database)).ended);
  expect((await readWatchResults(own.database)).log.fault).toMatch(/^checkpoint \d+: the hash/);
  expect(await own.mend()).toMatchObject({ code: 0 });
  expect((await readWatchResults(own.database)).log).toMatchObject({
    fault: null,
    checkedThrough: "100",
  });
});

test("an intact log is left as it is", async () => {
  await using own = await damaged("select 1");
  const { code, stdout } = await own.mend();
  expect(code).toBe(0);
  expect(stdout).toMatch(/^no row was mended\nthe log is intact through checkpoint 100: /);
  expect(await own.acts()).toEqual([]);
});

test("a pipeline that read the damaged fact has the right rows after a replay, as the command says", async () => {
  await using own = await damaged(
    `update log_facts set ${alter("contents")} where ${some("log_facts", FACT, "name = 'shared_token::Transfer' and checkpoint > 40")}`,
  );
  const replayed = ["replay", "--pipeline", "token_activity", "--share", "1"];
  expect(await own.run(...replayed, "--swap", "--accept")).toMatchObject({ code: 0 });
  const { code, stdout } = await own.mend();
  expect(code).toBe(0);
  const [todo, asked] =
    /^token_activity, shared_token_objects: rows made from .* `(replay --pipeline .*)` compares them/m.exec(
      stdout,
    ) ?? [];
  expect({ todo, stdout }).not.toMatchObject({ todo: undefined });
  expect(await own.run("reconcile")).toMatchObject({ code: 1 });
  const again = [...`${asked}`.split(" "), "--share", "1"];
  expect(await own.run(...again)).toMatchObject({ code: 1 });
  expect(await own.run(...again, "--swap", "--accept")).toMatchObject({ code: 0 });
  expect(await own.run("reconcile")).toMatchObject({ code: 0 });
  expect((await own.run("digest")).stdout).toBe((await runCommand(["digest"], settings)).stdout);
});

test("a replay that ended after it read the damaged fact begins again after the mend", async () => {
  await using own = await damaged(
    `update log_facts set ${alter("contents")} where ${some("log_facts", FACT, "name = 'shared_token::Transfer' and checkpoint > 40")}`,
  );
  const pipelines = ledgerPipelines.filter(({ name }) => name === "token_activity");
  const how = { share: 1, onProgress: () => {}, signal: new AbortController().signal };
  {
    const { database: left } = own;
    await using _ended = await replay({ pipelines, database: left, log: factSource(left), ...how });
  }
  expect(await own.mend()).toMatchObject({ code: 0 });
  const again = ["replay", "--pipeline", "token_activity", "--share", "1"];
  expect(await own.run(...again)).toMatchObject({ code: 0 });
});

test("a coin that the damaged fact holds is released by a retry after the mend, as the command says", async () => {
  await using own = await damaged(
    `update log_facts set contents = substring(contents for 20) where ${some("log_facts", FACT, "name = 'shared_token::SharedToken' and contents is not null and checkpoint > 40")}`,
  );
  const objects = ["replay", "--pipeline", "shared_token_objects", "--share", "1"];
  expect(await own.run(...objects, "--swap", "--accept")).toMatchObject({ code: 0 });
  const listed = JSON.parse((await own.run("quarantine", "list", "--json")).stdout);
  expect(listed).toMatchObject([{ pipeline: "shared_token_objects" }]);
  // For ever would be too long for a fact that is sound.
  const resolve = ["quarantine", "resolve", listed[0].coinType, "--by", "Ada", "--because", "bad"];
  expect(await own.run(...resolve)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/DamagedFactError: .*verify --log --mend/),
  });
  const { code, stdout } = await own.mend();
  expect(code).toBe(0);
  const [, asked = ""] =
    /^shared_token_objects holds \S+ from checkpoint \d+ on: `(quarantine retry \S+)` applies/m.exec(
      stdout,
    ) ?? [];
  expect(await own.run(...asked.split(" "))).toMatchObject({ code: 0 });
  expect(await own.run("reconcile")).toMatchObject({ code: 0 });
  expect((await own.run("digest")).stdout).toBe((await runCommand(["digest"], settings)).stdout);
});

test("an audit pack has the act, and verifies", async () => {
  await using own = await damaged(ALTERED);
  expect(await own.mend()).toMatchObject({ code: 0 });
  const out = join(folder.path, "pack");
  const [{ coin } = { coin: "" }] = await own.database.sql<{ coin: string }[]>`
    select coin_type as coin from log_coin_chain order by checkpoint limit 1`;
  const asked = ["--coin", coin, "--from", "50", "--to", "90", "--retry-for", "0"];
  const made = await own.run("audit-pack", ...asked, "--out", out);
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const acts = await readFile(join(out, "acts.ndjson"), "utf8");
  expect(JSON.parse(acts.split("\n")[0] ?? "")).toMatchObject({
    command: "verify",
    details: { mend: true, table: "log_facts", by: "Ada Byron" },
  });
  const verified = await own.run("audit-pack", "verify", out);
  expect(verified, verified.stdout).toMatchObject({ code: 0 });
});

const ALTERED = `update log_facts set sender = '0x${"5e".repeat(32)}' where checkpoint = (select min(checkpoint) from log_facts where checkpoint > 40)`;

/** Runs the mend, expects it to be refused, and the log as it was damaged. */
const expectRefused = async (
  own: Awaited<ReturnType<typeof damaged>>,
  words: RegExp,
  ...args: readonly string[]
) => {
  const before = await rowsOfLog(own.database);
  const { code, stderr } = await own.mend(...args);
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(words);
  expect(await rowsOfLog(own.database)).toEqual(before);
  expect(await own.acts()).toEqual([]);
};

/** The ledger of another issuer in the same form. */
const otherLedger = async (seed: number) => {
  const dir = join(folder.path, `ledger-${seed}`);
  await writeDemoLedger({ dir, checkpoints: LAST + 20, seed, format: "binpb", epochLength: 40 });
  return dir;
};

test("a source of another chain is refused, also where it poses as the log's and brings its own validators", async () => {
  const other = await otherLedger(4);
  await using own = await damaged(ALTERED);
  await expectRefused(
    own,
    /MendRefusedError: .* is of chain \w+, but the log of chain \w+; nothing was mended/,
    "--source",
    `dir:${other}`,
  );

  // Its checkpoints under the name of the log's chain.
  const posing = join(folder.path, "posing");
  await cp(other, posing, { recursive: true });
  const [mine, theirs] = [
    JSON.parse(await readFile(join(folder.path, "ledger", "ledger.json"), "utf8")),
    JSON.parse(await readFile(join(other, "ledger.json"), "utf8")),
  ];
  await writeFile(
    join(posing, "ledger.json"),
    JSON.stringify({ ...theirs, chainId: mine.chainId }),
  );
  await expectRefused(
    own,
    /MendRefusedError: checkpoint \d+: the signature is not that of the \d validators it names; nothing was mended/,
    "--source",
    `dir:${posing}`,
  );
  await using trusting = await damaged(ALTERED, { COMMITTEE_FILE: join(posing, "ledger.json") });
  await expectRefused(
    trusting,
    /the log, which is intact there, has \w+: this is another chain/,
    "--source",
    `dir:${posing}`,
  );
});

test("at the log's end, where no later link contradicts it, a checkpoint of another chain is refused", async () => {
  const dir = join(folder.path, "posing");
  await using own = await damaged(
    `update log_facts set sender = '0xbad' where checkpoint = 100; update log_blocks set ${alter("digests")} where ${some("log_blocks", "first_checkpoint desc", "true", 0)}`,
    { COMMITTEE_FILE: join(dir, "ledger.json") },
  );
  await expectRefused(own, /this is another chain; nothing was mended/, "--source", `dir:${dir}`);
});

test("a source that has lost the checkpoint, or gives a damaged one, is refused", async () => {
  const [row] = await database.sql<{ checkpoint: bigint }[]>`
    select min(checkpoint) as checkpoint from log_facts where checkpoint > 40`;
  const pruned = join(folder.path, "pruned");
  await cp(join(folder.path, "ledger"), pruned, { recursive: true });
  const file = join(pruned, `${row?.checkpoint}.binpb.zst`);
  await using own = await damaged(ALTERED);
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, bytes.length - 40));
  await expectRefused(own, /MendRefusedError: .*nothing was mended/, "--source", `dir:${pruned}`);
  await rm(file);
  await expectRefused(
    own,
    /MendRefusedError: .*\d+.*; nothing was mended/,
    "--source",
    `dir:${pruned}`,
  );
});

test("nothing is mended without validators to trust, whatever VERIFY says", async () => {
  await using own = await damaged(ALTERED, { COMMITTEE_FILE: "", VERIFY: "links" });
  await expectRefused(own, /CommitteeError: a mended row needs the validators' signatures/);
});

test("a log that was rewritten, chains and all, is not mended against its signed head", async () => {
  await using own = await damaged("select 1");
  const key = await openDeploymentKey(own.database, randomBytes(32));
  await own.database.transaction(({ sql }) => signHead(sql, key));
  await alterLog(own.database, ALTERED);
  await forgetChain(own.database);
  await completeChains(own.database);
  const { code, stdout } = await own.mend();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^no row was mended$/m);
  expect(stdout).toMatch(/another hash than the one that was signed in log_heads/);
  expect(await own.acts()).toEqual([]);
});

test("who mends, and why, is asked for before anything is read", async () => {
  const usage = async (words: RegExp, ...args: readonly string[]) => {
    const { code, stderr } = await runCommand(["verify", ...args], settings);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(words) });
  };
  await usage(/say --by NAME and --because TEXT/, "--log", "--mend");
  await usage(/say --by NAME and --because TEXT/, "--log", "--mend", "--by", "Ada");
  await usage(/--by and --because are for --mend/, "--log", "--by", "Ada");
  await usage(/--mend needs --log/, "--mend", "--by", "Ada", "--because", "x");
  await usage(
    /leave out --from/,
    "--log",
    "--mend",
    "--by",
    "A",
    "--because",
    "x",
    "--from",
    "3",
    "--source",
    "dir:x",
  );
});
