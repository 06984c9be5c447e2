// @module-tag thorough
/** A guided log is checked as one that was read whole: what is not read is not missing, what was read cannot go. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createChainEntries } from "../../src/audit/sequence/chain-entries.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { logCheck } from "../../src/audit/watch/log-check.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { ASKED_CHANNEL, readAsked } from "../../src/log/between.ts";
import { keepSummaries } from "../../src/log/guided.ts";
import { runCommand } from "../commands/run-command.ts";
import { rowsOfLog } from "../log/contents.ts";
import { alterLog } from "../log/damage.ts";
import { copyOf } from "../postgres.ts";
import { GUIDED, guidedLog, LAST } from "./guided-demo.ts";

const masterKey = randomBytes(32);

const { demo, database, folder, settings, close } = await guidedLog();
beforeAll(async () => {
  const key = await openDeploymentKey(database, masterKey);
  await signHead(database.sql, key);
  const entries = createChainEntries(key);
  while (!(await entries.next(database)).ended);
});
afterAll(close);

const verify = (url = database.url, ...args: readonly string[]) =>
  runCommand(["verify", "--log", ...args], { ...settings, DATABASE_URL: url });

const unread = () => {
  const read = new Set(demo.read);
  return demo.seen
    .map(({ mark }) => mark.sequence)
    .filter((sequence) => sequence < GUIDED && !read.has(sequence));
};

test("an untouched guided log is whole, and so are summaries between", async () => {
  // Otherwise this shows nothing.
  expect(unread().length).toBeGreaterThan(40);
  const { code, stdout } = await verify();
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/^the log is intact through checkpoint 169/);
  expect(stdout).toContain(
    "taken on faith: that no checkpoint of 0 to 150 concerns the contract but those",
  );
  const json = JSON.parse((await verify(database.url, "--json")).stdout);
  expect(json).toMatchObject({ holds: true, faults: [] });
  expect(json.signatures).toBeGreaterThan(
    demo.read.filter((sequence) => sequence <= GUIDED).length,
  );
  await using copied = await copyOf(database);
  const kept = unread().slice(0, 5);
  await keepSummaries(copied.sql, kept.map(demo.summaryOf));
  const again = JSON.parse((await verify(copied.url, "--json")).stdout);
  expect(again).toMatchObject({ holds: true, signatures: json.signatures + kept.length });
  const check = logCheck();
  while (!(await check.next(copied)).ended);
  expect(await readWatchResults(copied.db)).toMatchObject({ log: { fault: null } });
});

const MIDDLE =
  "(select first_checkpoint from log_blocks where first_checkpoint > 60 order by 1 offset 2 limit 1)";

test.each([
  [
    "a block",
    `delete from log_blocks where first_checkpoint = ${MIDDLE}`,
    /log_blocks lacks checkpoint \d+, which has a proof/,
  ],
  [
    "a block with its link",
    `with gone as (delete from log_blocks where first_checkpoint = ${MIDDLE} returning first_checkpoint)
     delete from log_block_chain where first_checkpoint in (select first_checkpoint from gone)`,
    /the hash of times and digests of checkpoints \d+ to \d+ is not the one in log_block_chain/,
  ],
  [
    "a block with its link and proof",
    `with gone as (delete from log_blocks where first_checkpoint = ${MIDDLE} returning first_checkpoint),
     linked as (delete from log_block_chain where first_checkpoint in (select first_checkpoint from gone))
     delete from log_proofs where first_checkpoint in (select first_checkpoint from gone)`,
    /the hash of times and digests of checkpoints \d+ to \d+ is not the one in log_block_chain/,
  ],
  [
    "the last block of a guided batch with everything of it",
    `with gone as (delete from log_blocks where first_checkpoint <= 60 and first_checkpoint + count > 60 returning first_checkpoint),
     linked as (delete from log_block_chain where first_checkpoint in (select first_checkpoint from gone))
     delete from log_proofs where first_checkpoint in (select first_checkpoint from gone)`,
    /log_guided: the range 0 to 60 ends with a checkpoint that log_blocks lacks/,
  ],
  [
    "a proof",
    `delete from log_proofs where first_checkpoint = ${MIDDLE}`,
    /log_proofs has no proof of checkpoint \d+, which was read guided/,
  ],
  [
    "all proofs and committees",
    "with gone as (delete from log_proofs) delete from log_committees",
    /log_proofs is empty, though signatures were verified/,
  ],
  [
    "a fact",
    "delete from log_facts where ctid = (select ctid from log_facts where checkpoint > 60 order by checkpoint limit 1)",
    /log_facts has/,
  ],
  [
    "all rows of facts of a checkpoint",
    `with one as (select max(checkpoint) as at from log_checkpoints where checkpoint < 60),
     a as (delete from log_facts where checkpoint = (select at from one)),
     b as (delete from log_inputs where checkpoint = (select at from one))
     delete from log_checkpoints where checkpoint = (select at from one)`,
    /log_chain/,
  ],
  [
    "a guided range",
    "delete from log_guided where first_checkpoint = 0",
    /log_blocks lacks checkpoints/,
  ],
  [
    "the end of a guided range",
    "update log_guided set last_checkpoint = last_checkpoint + 1 where first_checkpoint > 0",
    /log_proofs: a proof is said to cover 151 to \d+, some of which were read guided/,
  ],
])("a guided log that lost %s is not whole", async (_, statement, says) => {
  await using copied = await copyOf(database);
  await alterLog(copied, statement);
  const { code, stdout } = await verify(copied.url);
  expect(code).toBe(1);
  expect(stdout).toMatch(says);
});

test("a range that was read whole cannot be said to be guided", async () => {
  await using copied = await copyOf(database);
  await alterLog(copied, `insert into log_guided values (${GUIDED + 1}, ${LAST})`);
  const { code, stdout } = await verify(copied.url);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /log_proofs: a proof is said to cover \d+ to \d+, some of which were read guided/,
  );
});

test.each([
  ["another time", "update log_summaries set timestamp_ms = timestamp_ms + 1"],
  ["another digest", "update log_summaries set digest = (select max(digest) from log_checkpoints)"],
  [
    "another summary",
    "update log_summaries set summary = set_byte(summary, 20, get_byte(summary, 20) # 1)",
  ],
  [
    "another signature",
    "update log_summaries set signature = set_byte(signature, 9, get_byte(signature, 9) # 1)",
  ],
  ["another epoch", "update log_summaries set epoch = epoch + 1"],
  ["a place outside of guided ranges", `update log_summaries set checkpoint = ${LAST}`],
])("a kept summary with %s is found", async (_, statement) => {
  await using copied = await copyOf(database);
  await keepSummaries(copied.sql, unread().slice(7, 8).map(demo.summaryOf));
  await alterLog(copied, statement);
  const { code, stdout } = await verify(copied.url);
  expect(code).toBe(1);
  expect(stdout).toMatch(/log_summaries: checkpoint \d+ /);
});

const FACT = "checkpoint, transaction, kind, index";
const some = (table: string, order: string, where: string) =>
  `ctid = (select ctid from ${table} where ${where} order by ${order} limit 1 offset 3)`;

test.each([
  [
    "a fact's sender",
    `update log_facts set sender = '0xbad' where ${some("log_facts", FACT, "checkpoint < 60")}`,
  ],
  ["a deleted fact", `delete from log_facts where ${some("log_facts", FACT, "checkpoint < 60")}`],
  [
    "a deleted metadata object",
    "delete from log_facts where ctid = (select ctid from log_facts where name like 'coin%' and checkpoint < 60 order by checkpoint limit 1)",
  ],
  [
    "all facts of a checkpoint deleted",
    `with one as (select max(checkpoint) as at from log_checkpoints where checkpoint < 60)
     delete from log_facts where checkpoint = (select at from one)`,
  ],
  ["a deleted block", `delete from log_blocks where first_checkpoint = ${MIDDLE}`],
  [
    "a deleted block with its link",
    `with gone as (delete from log_blocks where first_checkpoint = ${MIDDLE} returning first_checkpoint)
     delete from log_block_chain where first_checkpoint in (select first_checkpoint from gone)`,
  ],
  [
    "another digest",
    `update log_blocks set digests = set_byte(digests, 3, get_byte(digests, 3) # 1) where first_checkpoint = ${MIDDLE}`,
  ],
  [
    "another input version",
    "update log_inputs set version = version + 1 where ctid = (select ctid from log_inputs where checkpoint < 60 and version is not null order by checkpoint limit 1)",
  ],
])("%s in a guided range is mended from the ledger", async (_, statement) => {
  await using copied = await copyOf(database);
  const whole = await rowsOfLog(copied);
  await alterLog(copied, statement);
  const own = {
    ...settings,
    DATABASE_URL: copied.url,
    DATA_DIR: folder.path,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  };
  const mend = ["verify", "--log", "--mend", "--by", "Ada Byron", "--because", "a bad disk"];
  const { code, stdout, stderr } = await runCommand([...mend, "--retry-for", "0"], own);
  expect(code, stdout + stderr).toBe(0);
  expect(await rowsOfLog(copied)).toEqual(whole);
  expect(await verify(copied.url)).toMatchObject({ code: 0 });
});

test("read again from a source, a guided log is compared where it was read", async () => {
  const again = ["--source", settings.LEDGER_SOURCE ?? ""];
  const { code, stdout, stderr } = await verify(database.url, ...again, "--json");
  expect(code, stdout + stderr).toBe(0);
  const { source } = JSON.parse(stdout);
  const read = demo.read.filter((sequence) => sequence <= GUIDED).length;
  expect(source).toMatchObject({ checkpoints: read + LAST - GUIDED, gaps: [], ended: true });
  await using copied = await copyOf(database);
  await alterLog(
    copied,
    `update log_facts set sender = '0xbad' where ${some("log_facts", FACT, "checkpoint < 60")}`,
  );
  const altered = await verify(copied.url, ...again);
  expect(altered.code).toBe(1);
  expect(altered.stdout).toMatch(/sender is 0xbad, the ledger has 0x/);
});

test("projections of a guided log are reconciled, replayed and swapped", async () => {
  await using copied = await copyOf(database);
  const own = {
    ...settings,
    DATABASE_URL: copied.url,
    DATA_DIR: folder.path,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  };
  const commands = [
    ["reconcile"],
    ["replay"],
    ["replay", "--swap"],
    ["reconcile"],
    ["replay", "--from", "source", "--json"],
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await runCommand(command, own);
    expect(code, `${command.join(" ")}: ${stdout}${stderr}`).toBe(0);
    if (!command.includes("source")) continue;
    const { details } = JSON.parse(stdout).record;
    expect(details).toMatchObject({ result: "identical", readGuided: "0 to 150" });
  }
});

test("a package is not added to what was read guided: its checkpoints may not have been", async () => {
  const address = `0x${"ab".repeat(32)}`;
  const { code, stderr } = await runCommand(
    ["packages", "add", address, "--from", "100"],
    settings,
  );
  expect(code).toBe(2);
  expect(stderr).toContain("the log was read guided up to checkpoint 150");
});

test("a proof through a checkpoint that was not read waits until its digest is found", async () => {
  const through = unread().at(-1) ?? expect.fail("every checkpoint was read");
  await using copied = await copyOf(database);
  const provenThrough = () =>
    runCommand(["prove", "complete", "--through", `${through}`, "--json"], {
      ...settings,
      DATABASE_URL: copied.url,
    });
  const refused = await provenThrough();
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain(`checkpoint ${through} lies between two checkpoints`);

  const listening = new AbortController();
  copied.listen(
    ASKED_CHANNEL,
    (payload) => {
      const asked = readAsked(payload ?? "");
      if (asked?.kind !== "checkpoint") return;
      keepSummaries(copied.sql, [demo.summaryOf(asked.checkpoint)]);
    },
    listening.signal,
  );
  const { stdout, stderr } = await provenThrough();
  listening.abort();
  expect(stderr).toBe("");
  const { digest } = demo.summaryOf(through);
  expect(JSON.parse(stdout).through).toEqual({ checkpoint: `${through}`, digest });
});
