import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { numericOf, writeOcf } from "../../src/audit/ocf.ts";
import { OcfCheck } from "../../src/audit/ocf-check.ts";
import { type CapRow, createCapTables } from "../../src/projections/cap-tables.ts";
import { guardedReads } from "../../src/projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../src/projections/needed.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { project } from "../projections/project.ts";
import { COINS, cuts, history } from "../projections/random-history.ts";
import { search } from "../random.ts";
import { follow } from "../service/following.ts";
import { readOcf } from "./ocf-package.ts";

let database: TestDatabase;
let demo: TestDatabase;
let coinTypes: readonly string[] = [];
let folder: string;
/** Folders are numbered. */
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ocf-"));
  [database, demo] = await Promise.all([freshDatabase({ max: 8 }), freshDatabase({ max: 8 })]);
  const ledger = createDemoLedger({
    seed: 5,
    timeOf: (sequence) => 1_735_689_600_000n + sequence * 3_600_000n,
  });
  coinTypes = ledger.coinTypes.map(({ coinType }) => coinType);
  const following = await follow(demo, ledger);
  const raws = Array.from({ length: 1_500 }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await following.append(raws);
  await following.project(5_000);
});
afterAll(async () => {
  await Promise.all([database.close(), demo.close(), rm(folder, { recursive: true, force: true })]);
});

const newFolder = () => {
  made += 1;
  return join(folder, `${made}`);
};

async function* inOnePage(rows: readonly CapRow[]) {
  yield rows;
}

const idOf = ({ holderId, wallets }: CapRow) =>
  holderId === null ? `wallet-${wallets[0]?.address}` : `holder-${holderId}`;

/** Writes and reads the package of a checkpoint; what is held must be what the cap table says. */
const written = async (
  from: TestDatabase,
  coinType: string,
  checkpoint: bigint,
  decimals: number | null,
) => {
  const at = { checkpoint, timestampMs: 1_700_000_000_000n };
  const rows = await createCapTables().rows(guardedReads(from.db, FOR_CAP_TABLES), {
    coinType,
    at,
    limit: 10_000,
  });
  const into = newFolder();
  await writeOcf(from, {
    coinType,
    decimals,
    checkpoint,
    checkpointTimestamp: 1_700_000_000n,
    checkpointDigest: "digest",
    rows: inOnePage(rows),
    issuer: undefined,
    folder: into,
  });
  const read = await readOcf(into);
  const unit = 10n ** BigInt(10 - (decimals !== null && decimals <= 10 ? decimals : 0));
  const expected = rows.map((row): [string, bigint] => [idOf(row), row.balance * unit]);
  expect(read.held).toEqual(new Map(expected));
  return { ...read, folder: into };
};

test("what a random history comes to in Open Cap Format is the cap table, and its past never changes", async () => {
  await search(
    fc.asyncProperty(history, fc.tuple(cuts, cuts, cuts, cuts, cuts), async (checkpoints, five) => {
      await project(database, checkpoints, five);
      const last = BigInt(checkpoints.length - 1);
      for (const coinType of COINS) {
        const then = await written(database, coinType, last / 2n, 6);
        const now = await written(database, coinType, last, 6);
        expect(now.transactions.slice(0, then.transactions.length)).toEqual(then.transactions);
      }
    }),
    10,
  );
});

test("the register of the demo ledger is written with vesting, transfers and cancellations", async () => {
  const kinds = new Set<string>();
  for (const coinType of coinTypes) {
    for (const checkpoint of [200n, 1_499n]) {
      const { transactions, terms, held } = await written(demo, coinType, checkpoint, 6);
      for (const { object_type, vestings } of transactions)
        kinds.add(vestings ? "DATES" : object_type);
      for (const { object_type } of terms) kinds.add(object_type);
      expect(held.size).toBeGreaterThan(0);
    }
  }
  expect([...kinds].toSorted()).toEqual([
    "DATES",
    "TX_STOCK_CANCELLATION",
    "TX_STOCK_ISSUANCE",
    "TX_STOCK_TRANSFER",
    "TX_VESTING_START",
    "VESTING_TERMS",
  ]);
});

test("a token of more than ten decimals is given in its smallest unit, and says so", async () => {
  const [coinType = ""] = coinTypes;
  const { manifest, transactions } = await written(demo, coinType, 200n, 18);
  expect(manifest.comments).toContain(
    "quantities are in the smallest unit of the token, which has 18 decimals",
  );
  for (const { quantity } of transactions) expect(quantity ?? "0").toMatch(/^\d+$/);
  expect([numericOf(1_500_000n, 6), numericOf(5n, 6), numericOf(7n, 0)]).toEqual([
    "1.5",
    "0.000005",
    "7",
  ]);
});

const run = (settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  runCommand(["cap-table", "--coin", coinTypes[0] ?? "", "--format", "ocf", ...args], {
    DATABASE_URL: demo.url,
    ...settings,
  });

const contentsOf = async (from: string) => {
  const names = (await readdir(from)).toSorted();
  return Promise.all(
    names.map(async (name) => [name, await readFile(join(from, name), "utf8")] as const),
  );
};

test("the command writes the same files for the same checkpoint, with the issuer of the assets file", async () => {
  const assets = join(folder, "assets.json");
  const issuer = { legalName: "Acme AG", formationDate: "2019-04-01", countryOfFormation: "CH" };
  const token = { name: "acme", ledger: "sui", coinType: coinTypes[0], issuer };
  await writeFile(assets, JSON.stringify({ projects: [{ name: "acme", tokens: [token] }] }));
  const [one, other] = [newFolder(), newFolder()];
  await mkdir(other);
  for (const out of [one, other]) {
    const ran = await run({ ASSETS_FILE: assets }, "--at", "800", "--out", out);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/: \d+ transactions, \d+ stakeholders\n$/);
  }
  expect(await contentsOf(one)).toEqual(await contentsOf(other));
  const { manifest } = await readOcf(one);
  expect(manifest.issuer).toMatchObject({
    legal_name: "Acme AG",
    formation_date: "2019-04-01",
    country_of_formation: "CH",
  });
  // Checkpoint 800 is 800 hours after the first one.
  expect(manifest).toMatchObject({
    as_of: "2025-02-03",
    generated_at: "2025-02-03T08:00:00.000Z",
  });
  // What is there is never written over.
  expect(await run({}, "--out", one)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not empty"),
  });
  expect(await run({})).toMatchObject({ code: 2, stderr: expect.stringContaining("--out") });
});

test("a history that does not come to the cap table is refused, and nothing is left behind", async () => {
  const [coinType = ""] = coinTypes;
  const at = { checkpoint: 200n, timestampMs: 0n };
  const rows = await createCapTables().rows(guardedReads(demo.db, FOR_CAP_TABLES), {
    coinType,
    at,
    limit: 10_000,
  });
  const raised = rows.map((row, index) =>
    index === 0 ? { ...row, balance: row.balance + 1n } : row,
  );
  const into = newFolder();
  const before = await readdir(folder);
  for (const told of [raised, rows.slice(1)]) {
    const request = {
      coinType,
      decimals: 6,
      checkpoint: 200n,
      checkpointTimestamp: 1_700_000_000n,
      checkpointDigest: "digest",
      issuer: undefined,
      folder: into,
    };
    await expect(writeOcf(demo, { ...request, rows: inOnePage(told) })).rejects.toThrow(
      "the cap table says",
    );
  }
  expect(await readdir(folder)).toEqual(before);
});

test("every small change of a package is refused by the check", async () => {
  const [coinType = ""] = coinTypes;
  const { transactions, terms, stakeholders, classes, held } = await written(
    demo,
    coinType,
    1_499n,
    6,
  );
  type Texts = readonly string[];
  const check = (changed: Texts, ofTerms: Texts, ofStakeholders: Texts) => {
    const checking = new OcfCheck();
    for (const one of classes) checking.stockClass(JSON.stringify(one));
    for (const text of changed) checking.transaction(text);
    for (const text of ofTerms) checking.vestingTerms(text);
    for (const text of ofStakeholders) {
      checking.stakeholder(text, held.get(/"id":"([^"]+)"/.exec(text)?.[1] ?? "") ?? 0n);
    }
    checking.end();
  };
  const textsOf = (all: readonly object[]) => all.map((one) => JSON.stringify(one));
  const [good, ofTerms, ofStakeholders] = [transactions, terms, stakeholders].map(textsOf);
  if (!good || !ofTerms || !ofStakeholders) throw new Error("there are three");
  check(good, ofTerms, ofStakeholders);
  const at = (kind: string, also = "") =>
    good.findIndex((text) => text.includes(kind) && text.includes(also));
  const changed = (index: number, from: string | RegExp, to: string) => {
    const text = good[index]?.replace(from, to) ?? "";
    expect(text).not.toBe(good[index]);
    return good.with(index, text);
  };
  const [issuance, transfer, start] = ["ISSUANCE", "TRANSFER", "START"].map((kind) => at(kind));
  const partial = at("CANCELLATION", "balance_security_id");
  const dates = at("ISSUANCE", "vestings");
  const faults: readonly Texts[] = [
    good.slice(1),
    good.slice(0, -1),
    good.toSpliced(transfer ?? 0, 1),
    good.toSpliced((transfer ?? 0) + 1, 1),
    good.toSpliced(1, 0, good[0] ?? ""),
    changed(issuance ?? 0, /"quantity":"/, '"quantity":"1'),
    changed(issuance ?? 0, /"quantity":"[^"]+"/, '"quantity":"0.00000000001"'),
    changed(issuance ?? 0, /"quantity":"([^"]+)"/, '"quantity":1'),
    changed(issuance ?? 0, '"custom_id"', '"customId"'),
    changed(issuance ?? 0, "{", '{"extra":1,'),
    changed(issuance ?? 0, "class-1", "class-2"),
    changed(issuance ?? 0, /"stakeholder_id":"/, '"stakeholder_id":"un'),
    changed(issuance ?? 0, /"date":"\d{4}/, '"date":"20-'),
    changed(transfer ?? 0, /"security_id":"security-\d+/, '"security_id":"security-999999'),
    changed(transfer ?? 0, /"quantity":"/, '"quantity":"1'),
    changed(start ?? 0, /"security_id":"security-\d+/, '"security_id":"security-0'),
    changed(partial, /"balance_security_id":"[^"]+",?/, ""),
    changed(dates, /"amount":"([^"]+)"/, '"amount":"1$1"'),
    changed(at("vesting_terms_id"), /"vesting_terms_id":"/, '"vesting_terms_id":"un'),
  ];
  for (const [index, fault] of faults.entries()) {
    expect(() => check(fault, ofTerms, ofStakeholders), `fault ${index}`).toThrow();
  }
  expect(() => check(good, ofTerms.slice(1), ofStakeholders)).toThrow("no terms");
  expect(() => check(good, ofTerms, ofStakeholders.slice(1))).toThrow("no stakeholder");
  const nowhere = ofTerms.with(0, (ofTerms[0] ?? "").replace('["first"]', '["other"]'));
  expect(() => check(good, nowhere, ofStakeholders)).toThrow("no condition other");
});
