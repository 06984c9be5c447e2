import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { balancesOf } from "../../demo/model.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { runCommand } from "./run-command.ts";

let database: TestDatabase;
/** What each owner held of the first coin after 300 checkpoints, and how many checkpoints there are. */
let then: { readonly coinType: string; readonly balances: ReadonlyMap<string, bigint> };
let timeMs = 0n;

beforeAll(async () => {
  database = await freshDatabase();
  const ledger = createDemoLedger({ seed: 3 });
  const following = await follow(database, ledger);
  const append = async (checkpoints: number) => {
    const raws = Array.from({ length: checkpoints }, () => {
      const { sequence, raw } = ledger.next();
      return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
    });
    await following.append(raws);
    await following.project(1_000);
  };
  await append(300);
  const [coinType = ""] = ledger.model.coins.keys();
  const held = [...balancesOf(ledger.model, coinType)].map(
    ([owner, { tokens, grants }]) => [owner, tokens + grants] as const,
  );
  then = { coinType, balances: new Map(held.filter(([, balance]) => balance > 0n)) };
  timeMs = (await readHighWater(database.sql))?.last?.timestampMs ?? 0n;
  await append(400);
});
afterAll(() => database.close());

const run = (...args: readonly string[]) =>
  runCommand(["cap-table", ...args], { DATABASE_URL: database.url });

const document = z.object({
  coinType: z.string(),
  checkpoint: z.string(),
  checkpointDigest: z.string(),
  issued: z.string(),
  totalSupply: z.string(),
  holderCount: z.number(),
  root: z.string().regex(/^[0-9a-f]{64}$/),
  rows: z.array(
    z.object({
      holderId: z.string().nullable(),
      balance: z.string(),
      share: z.string().regex(/^[01]\.\d{12}$/),
      wallets: z.array(z.object({ address: z.string(), balance: z.string() })),
    }),
  ),
});

test("it prints who held a token at a checkpoint, as JSON, with all wallets and what they add up to", async () => {
  const ran = await run("--coin", then.coinType, "--at", "299", "--format", "json");
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const table = document.parse(JSON.parse(ran.stdout));
  expect(table).toMatchObject({ coinType: then.coinType, checkpoint: "299" });
  expect(table.holderCount).toBe(table.rows.length);
  const wallets = table.rows.flatMap((row) => row.wallets);
  const held = wallets.filter(({ balance }) => balance !== "0");
  expect(new Map(held.map(({ address, balance }) => [address, BigInt(balance)]))).toEqual(
    then.balances,
  );
  const sum = table.rows.reduce((total, { balance }) => total + BigInt(balance), 0n);
  expect([table.issued, table.totalSupply]).toEqual([sum.toString(), sum.toString()]);
});

test("a date and time means the end of its second, and CSV for programs has the checkpoint and its digest in its header", async () => {
  const json = document.parse(
    JSON.parse((await run("--coin", then.coinType, "--at", "299", "--format", "json")).stdout),
  );
  // The demo's checkpoints follow each other within a second: this one is the last of its own or not.
  const moment = new Date(Number(timeMs) - (Number(timeMs) % 1_000)).toISOString();
  const ran = await run("--coin", then.coinType, "--at", moment, "--for", "programs");
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const lines = ran.stdout.trimEnd().split("\n");
  const head = Object.fromEntries(
    lines.filter((line) => line.startsWith("# ")).map((line) => line.slice(2).split(",")),
  );
  expect(BigInt(head.checkpoint ?? 0)).toBeGreaterThanOrEqual(299n);
  expect(head.checkpointTimestamp).toBe((timeMs / 1_000n).toString());
  expect(head.checkpointDigest).toMatch(/^[1-9A-HJ-NP-Za-km-z]{40,44}$/);
  const [columns, ...rows] = lines.filter((line) => !line.startsWith("#"));
  expect(columns).toBe(
    "holder_id,wallets,balance_in_units,tokens_in_units,granted_in_units,unlocked_in_units,locked_in_units,share",
  );
  expect(rows).toHaveLength(Number(head.holderCount));
  if (head.checkpoint === "299") expect(head.root).toBe(json.root);
});

test("CSV for people, the default, adds up to the supply, in tokens", async () => {
  const settings = ["--coin", then.coinType, "--at", "299"] as const;
  const ran = await run(...settings);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const [columns, ...rows] = ran.stdout.trimEnd().split("\n");
  expect(columns).toBe(
    "holder_id,wallets,balance,tokens,unlocked,locked,share_percent,frozen,groups",
  );
  const cells = rows.map((row) => row.split(","));
  for (const one of cells) expect(one[2]).toMatch(/^\d+\.\d{6}$/);
  const sum = cells.reduce((total, one) => total + BigInt(one[2]?.replace(".", "") ?? 0), 0n);
  const json = document.parse(JSON.parse((await run(...settings, "--json")).stdout));
  expect([sum.toString(), rows.length]).toEqual([json.issued, json.holderCount]);
});

test("a format unsuited to its audience is wrong usage", async () => {
  for (const [format, reader, alone] of [
    ["csv-zip", "programs", "people"],
    ["json", "people", "programs"],
  ] as const) {
    expect(await run("--coin", then.coinType, "--format", format, "--for", reader)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`the format ${format} is for ${alone} alone`),
    });
  }
});

test("unanswerable requests are refused, naming what is possible", async () => {
  expect(await run("--coin", then.coinType, "--at", "700")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("checkpoint 700 is not indexed yet; the last one is 699"),
  });
  for (const moment of ["yesterday", "2026-06-31T23:59:59Z"]) {
    expect(await run("--coin", then.coinType, "--at", moment)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("such as 2026-06-30T23:59:59Z"),
    });
  }
  expect(await run("--coin", "0x2::sui::SUI")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("existed at checkpoint 699"),
  });
  expect(await run("--coin", then.coinType, "--at", "2001-01-01T00:00:00Z")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("before the log begins"),
  });
});
