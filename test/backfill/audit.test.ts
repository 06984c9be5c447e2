/** `backfill --audit` against an object store. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { alterSender } from "../log/damage.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { divideLedger } from "./divided-ledger.ts";

let ledger: Awaited<ReturnType<typeof divideLedger>>;
let database: TestDatabase;
beforeAll(async () => {
  [ledger, database] = await Promise.all([divideLedger(100), freshDatabase()]);
  await ledger.readLog(database);
});
afterAll(async () => {
  await database.close();
  await ledger[Symbol.asyncDispose]();
});

const audit = (...args: readonly string[]) =>
  runCommand(["backfill", "--audit", ...args], {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: ledger.store.base.href,
    SECURITY_TOKEN_PACKAGES: ledger.packages.join(","),
  });

test("random ranges of a sound log have no difference, and come to the share that was asked for", async () => {
  const half = await audit("50%", "--range", "10");
  expect(half).toMatchObject({ code: 0, stderr: "" });
  expect(half.stdout).toMatch(
    /^compared 50 checkpoints in 5 random ranges, with [1-9]\d* facts, with \S+\nno difference\n$/,
  );
  const least = await audit("0.01%", "--range", "10");
  expect(least.stdout).toContain("compared 10 checkpoints in 1 random ranges");
});

test("altered facts are named with their checkpoint, and end the command with 1", async () => {
  for (let at = 40n; at < 60n; at += 1n) await alterSender(database, at, `0x${"1".repeat(64)}`);
  const { code, stdout } = await audit("100%");
  expect(code).toBe(1);
  expect(stdout).toMatch(/^checkpoint [45]\d: the log is not what the ledger says$/m);
  expect(stdout).toContain("sender is 0x1111");
  expect(stdout).not.toContain("no difference");
});

test("a share or a range that cannot be is refused, as is a backfill without an end, or of the demo ledger", async () => {
  for (const args of [["0%"], ["101%"], ["1"]]) expect((await audit(...args)).code).toBe(2);
  expect((await audit("1%", "--to", "5")).code).toBe(2);
  const { code, stderr } = await runCommand(["backfill"], { DATABASE_URL: database.url });
  expect([code, stderr]).toEqual([2, expect.stringContaining("--to")]);
  const demo = await runCommand(["backfill", "--from", "0", "--to", "9"], {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: "demo:",
  });
  expect([demo.code, demo.stderr]).toEqual([
    2,
    expect.stringContaining("LEDGER_SOURCE: must name"),
  ]);
});
