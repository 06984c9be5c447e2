// @module-tag thorough
/** What is signed, checked and said beside a coin in quarantine: nothing about it from there on, all else as ever. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { publishedRootsOf } from "../../src/audit/sequence/published-roots.ts";
import { dailyRoots } from "../../src/audit/watch/daily-roots.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { rowsCheck } from "../../src/audit/watch/rows-check.ts";
import { sumsCheck } from "../../src/audit/watch/sums-check.ts";
import type { SlowCheck } from "../../src/audit/watch/watch.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { SHARED_TOKEN } from "../../src/ledger/contract/names.ts";
import type { Fact } from "../../src/log/fact.ts";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { releaseCoin } from "../../src/pipelines/release.ts";
import { ALL } from "../../src/projections/needed.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { runCommand } from "../commands/run-command.ts";
import { damaged, project } from "../pipelines/held-history.ts";
import { alterRows } from "../projections/damage.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "./demo-register.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGIN = Date.UTC(2026, 5, 1);
/** A checkpoint every ten minutes: the first day ends with this one. */
const CLOSE = 143n;

const masterKey = randomBytes(32);

let register: DemoRegister;
let settings: Record<string, string>;
let [held, other] = ["", ""];
/** First checkpoint of the held coin that is not in the rows. */
let from = 0n;

const isBad = (fact: Fact) =>
  fact.coinType === held && fact.name === SHARED_TOKEN && fact.checkpoint >= 100n;

/** Lets the pipelines read the log, in which the coin's facts seem damaged. */
const goOn = async () => {
  const { database } = register;
  const { last } = await factSource(database).highWater();
  await project(database, damaged(factSource(database), isBad), 500, last?.sequence ?? 0n);
};

beforeAll(async () => {
  register = await demoRegister({ genesisTimeMs: BigInt(BEGIN), intervalMs: BigInt(HOUR / 6) });
  const { database, model } = register;
  await register.advance(155, 1_000, { appendOnly: true });
  [held = "", other = ""] = [...model.coins.keys()].toSorted();
  await goOn();
  const [row] = await database.sql<{ from: bigint }[]>`
    select (held -> ${held} ->> 'from')::int8 as from from shared_token_objects_watermark`;
  from = row?.from ?? 0n;
  settings = { DATABASE_URL: database.url, CALLBACK_MASTER_KEY: masterKey.toString("base64") };
});
afterAll(() => register[Symbol.asyncDispose]());

const round = async (check: SlowCheck) => {
  await alterRows(
    register.database,
    "update reconciliations set at = at - interval '1 day' where kind = 'full'",
  );
  while (!(await check.next(register.database)).ended);
};

const rootsOf = async (coinType: string) =>
  (await publishedRootsOf(register.database, { coinType, limit: 100 })).map(({ checkpoint }) =>
    BigInt(checkpoint),
  );

const keyAgain = () => openDeploymentKey(register.database, masterKey);

test("the hold is from a checkpoint before the day's end", () => {
  expect(from).toBeGreaterThanOrEqual(100n);
  expect(from).toBeLessThan(CLOSE);
});

test("the daily roots of all other coins are published, the held coin has none, and nothing turns red", async () => {
  const key = await keyAgain();
  const faults: string[] = [];
  const onFault = (coin: string) => faults.push(coin);
  await round(dailyRoots({ key, now: () => BEGIN + DAY + HOUR, onFault }));
  expect(faults).toEqual([]);
  for (const coin of register.model.coins.keys()) {
    expect(await rootsOf(coin)).toEqual(coin === held ? [] : [CLOSE]);
  }
  await round(sumsCheck());
  await round(rowsCheck(86_400));
  const { sums, rows, roots } = await readWatchResults(register.database);
  expect({ sums: sums.findings, rows: rows.findings, roots: roots.faults }).toEqual({
    sums: [],
    rows: [],
    roots: [],
  });
  expect(await integrityDetails(register.database)()).toMatchObject({ state: "ok" });
});

const watched = () =>
  watchHealth({
    progress: databaseProgress(register.database.db, ALL),
    version: "0.0.0-test",
    onError: (error) => expect.unreachable(String(error)),
    observeEveryMs: 0,
  });

/** Samples of a metric. */
const metric = async (name: string) => {
  await using health = watched();
  const { body } = await createMetrics(health).text();
  return body.split("\n").filter((line) => line.startsWith(`holderbook_${name}{`));
};

test("health keeps its state and names the held coin", async () => {
  await using health = watched();
  const { status, pipelines } = await health.report();
  expect(status).not.toBe("stalled");
  expect(pipelines.flatMap(({ quarantined }) => quarantined ?? [])).toMatchObject([
    { coins: 1, first: [{ coinType: held, checkpoint: `${from}` }] },
  ]);
});

test("metrics count the held coin in its pipeline alone, and tell for how long it is held", async () => {
  const [row] = await register.database.sql<{ since: string }[]>`
    select held -> ${held} ->> 'since' as since from shared_token_objects_watermark`;
  const sinceMs = Date.parse(row?.since ?? "");
  const counts = await metric("quarantined_coins");
  expect(counts.filter((line) => !line.endsWith(" 0"))).toEqual([
    'holderbook_quarantined_coins{pipeline="shared_token_objects"} 1',
  ]);
  // And the incomplete ones.
  expect(counts).toHaveLength(ALL.length + 1);
  const beforeMs = Date.now();
  const seconds = await metric("quarantined_seconds");
  const afterMs = Date.now();
  expect(seconds).toEqual([
    expect.stringContaining(`_seconds{pipeline="shared_token_objects",coin="${held}"} `),
  ]);
  const told = Number(seconds[0]?.split(" ").at(-1));
  expect(told).toBeGreaterThanOrEqual((beforeMs - sinceMs) / 1_000);
  expect(told).toBeLessThanOrEqual((afterMs - sinceMs) / 1_000);
});

const inQuarantine = () =>
  `${held} is in quarantine in shared_token_objects from checkpoint ${from} on`;

test("commands refuse the held coin from there on and sign nothing, and answer for it before and for others", async () => {
  const at = (checkpoint: bigint) => ["--at", `${checkpoint}`];
  for (const moment of [[], at(from), at(CLOSE)]) {
    const table = await runCommand(["cap-table", "--coin", held, ...moment], settings);
    expect(table).toMatchObject({ code: 1, stdout: "" });
    expect(table.stderr).toContain(inQuarantine());
  }
  const before = await runCommand(["cap-table", "--coin", held, ...at(from - 1n)], settings);
  expect(before).toMatchObject({ code: 0, stderr: "" });
  expect(await runCommand(["cap-table", "--coin", other], settings)).toMatchObject({ code: 0 });

  const holderOf = async (coin: string) => {
    const { stdout } = await runCommand(
      ["cap-table", "--coin", coin, "--json", ...at(from - 1n)],
      settings,
    );
    return /"address":"(0x\w+)"/.exec(stdout)?.[1] ?? "";
  };
  const statement = (coin: string, owner: string, ...moment: readonly string[]) =>
    runCommand(["statement", "--coin", coin, "--owner", owner, ...moment], settings);
  const [holder, another] = [await holderOf(held), await holderOf(other)];
  const refused = await statement(held, holder);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(inQuarantine());
  expect(await rootsOf(held)).toEqual([]);
  expect(await statement(held, holder, ...at(from - 1n))).toMatchObject({ code: 0 });
  expect(await rootsOf(held)).toEqual([from - 1n]);
  expect(await statement(other, another)).toMatchObject({ code: 0 });

  const digest = await runCommand(["digest", "--at", `${CLOSE}`], settings);
  expect(digest.code).toBe(1);
  expect(digest.stderr).toContain(inQuarantine());
  const status = await runCommand(["status"], settings);
  expect(status.stdout).toContain(inQuarantine());
});

test("reconcile finds nothing false, and says what it could not show of the held coin", async () => {
  for (const more of [[], ["--at", `${CLOSE}`], ["--coin", held]]) {
    const { code, stdout } = await runCommand(["reconcile", ...more], settings);
    expect(stdout).not.toMatch(/findings/);
    expect(stdout).toContain(`not shown: ${inQuarantine()}`);
    expect(stdout).toContain(`compared through ${from - 1n}`);
    expect(code).toBe(3);
  }
  const { code, stdout } = await runCommand(["reconcile", "--coin", other], settings);
  expect({ code, stdout }).toMatchObject({ code: 0 });
});

test("a comparison with another deployment says so instead of naming a difference", async () => {
  await using service = await serveGraphql(register.database);
  const compare = (...more: readonly string[]) =>
    runCommand(["compare", service.url, ...more], {
      ...settings,
      HOLDERBOOK_COMPARE_KEY: service.key,
    });
  const now = await compare();
  expect(now).toMatchObject({ code: 3, stdout: "" });
  expect(now.stderr).toContain(inQuarantine());
  expect(now.stderr).toContain(`give --through ${from - 1n}`);
  const before = await compare("--through", `${from - 1n}`);
  expect(before).toMatchObject({ code: 3 });
  expect(before.stdout).toContain(`${held} is in quarantine`);
  expect(before.stdout).toContain("no difference found, but less was returned than requested");
});

test("after the release the coin has its root of the next day, and everything is compared again", async () => {
  const { database } = register;
  for (const pipeline of ledgerPipelines) {
    const log = factSource(database);
    const bounds = { maxFacts: 100, maxBytes: 1_000_000, signal: new AbortController().signal };
    const left = await releaseCoin({ on: database, pipeline, coinType: held, log, ...bounds });
    expect(left).toBeNull();
  }
  expect((await metric("quarantined_coins")).filter((line) => !line.endsWith(" 0"))).toEqual([]);
  expect(await metric("quarantined_seconds")).toEqual([]);
  await round(sumsCheck());
  await round(rowsCheck(86_400));
  const { sums, rows } = await readWatchResults(database);
  expect([...sums.findings, ...rows.findings]).toEqual([]);
  expect(await runCommand(["digest"], settings)).toMatchObject({ code: 0 });
  expect(await runCommand(["reconcile"], settings)).toMatchObject({ code: 0 });

  await register.advance(144, 1_000, { appendOnly: true });
  const { last } = await factSource(database).highWater();
  await project(database, factSource(database), 500, last?.sequence ?? 0n);
  const key = await keyAgain();
  await round(dailyRoots({ key, now: () => BEGIN + 2 * DAY + HOUR, onFault: () => undefined }));
  expect((await rootsOf(held)).map(String)).toEqual([`${CLOSE + 144n}`, `${from - 1n}`]);
});
