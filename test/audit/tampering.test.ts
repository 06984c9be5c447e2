// @module-tag thorough
/** Every change that docs/reference/tampering.md lists, performed, and the command that it says finds it. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { publishActs, recordAct } from "../../src/audit/sequence/acts.ts";
import { createChainEntries } from "../../src/audit/sequence/chain-entries.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { entriesAfter } from "../../src/audit/sequence/sequence.ts";
import type { Database } from "../../src/database/connect.ts";
import { appendRows } from "../../src/database/table-rows.ts";
import { completeChains } from "../../src/log/chain.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { linesOf, storedCheckpoints } from "../../src/pipelines/stored-rows.ts";
import { digestsOf, NO_ROWS } from "../../src/projections/digests.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterLog } from "../log/damage.ts";
import { chainInputsAnew } from "../log/inputs.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Finder, TAMPERINGS, type Tampering } from "./tamperings.ts";

let honest: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;
let kept: string;
let source: string;

const masterKey = randomBytes(32);

beforeAll(async () => {
  [folder, honest] = await Promise.all([temporaryFolder(), freshDatabase()]);
  const ledger = join(folder.path, "ledger");
  await writeDemoLedger({ dir: ledger, checkpoints: 160, seed: 3, format: "chk", epochLength: 60 });
  source = `dir:${ledger}`;
  settings = {
    DATABASE_URL: honest.url,
    LEDGER_SOURCE: source,
    VERIFY: "signatures",
    COMMITTEE_FILE: join(ledger, "ledger.json"),
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
  };
  const key = await openDeploymentKey(honest, masterKey);
  for (const last of ["59", "120", "159"]) {
    const { code, stderr } = await runCommand(["index", "--last", last], settings);
    expect(code, stderr).toBe(0);
    await honest.transaction(({ sql }) => signHead(sql, key));
    await createChainEntries(key).next(honest);
  }
  await honest.transaction(async ({ sql }) => {
    for (const pipeline of ["token_activity", "role_changes", "holder_lifecycle"]) {
      await recordAct(sql, { command: "rebuild", details: { pipeline }, on: "deployment" });
    }
    await publishActs(sql, key);
  });
  const [holder] = await honest.sql<{ coin: string; owner: string }[]>`
    select coin_type as coin, owner from balances where token_count > 0 order by 1, 2 limit 1`;
  const { coin = "", owner = "" } = holder ?? {};
  const args = ["statement", "--coin", coin, "--owner", owner, "--out"];
  const made = await runCommand([...args, join(folder.path, "statement.json")], settings);
  expect(made.code, made.stderr).toBe(0);
  kept = join(folder.path, "kept.jsonl");
  const entries = await entriesAfter({ sql: honest.sql }, -1n, 1_000);
  await writeFile(kept, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
}, 120_000);
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const FINDERS: readonly Finder[] = [
  "reconcile",
  "verify --log",
  "verify --log --head FILE",
  "verify --log --source SOURCE",
];

const COMMANDS: Readonly<Record<Finder, () => readonly string[]>> = {
  reconcile: () => ["reconcile"],
  "verify --log": () => ["verify", "--log"],
  "verify --log --head FILE": () => ["verify", "--log", "--head", kept],
  "verify --log --source SOURCE": () => ["verify", "--log", "--source", source],
};

const runFinder = (finder: Finder, { url }: TestDatabase) =>
  runCommand(COMMANDS[finder](), { ...settings, DATABASE_URL: url });

/** As an attacker who knows the algorithm would, so that the digests match the rows. */
const recomputeDigests = (database: Database) =>
  database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    for (const pipeline of ledgerPipelines) {
      const { digests } = pipeline;
      const lines = [];
      for await (const { checkpoint, rows } of storedCheckpoints(sql, pipeline, {
        first: 0n,
        last: 10n ** 9n,
      })) {
        lines.push(...linesOf(checkpoint, rows));
      }
      await sql`delete from ${sql(`${pipeline.name}_digests`)}`;
      const made = digestsOf(NO_ROWS, pipeline.layout, lines);
      await appendRows(sql, digests, made);
      await sql`update ${sql(`${pipeline.name}_watermark`)} set digest = ${made.at(-1)?.digest ?? null}`;
    }
  });

test("on an untouched database every command finds nothing", async () => {
  for (const finder of FINDERS) {
    const { code, stdout, stderr } = await runFinder(finder, honest);
    expect({ finder, code, stderr }, stdout).toEqual({ finder, code: 0, stderr: "" });
  }
}, 60_000);

/** Changes that are made at once, in one copy: found by one command, and each in another table. */
const runsOf = (tamperings: readonly Tampering[]): readonly (readonly Tampering[])[] => {
  const runs: Tampering[][] = [];
  const isAlone = (each: Tampering) => each.isAlone === true || each.recomputed === "chains";
  for (const each of tamperings) {
    const run = runs.find((others) =>
      others.every(
        (other) =>
          other.by === each.by &&
          other.recomputed === each.recomputed &&
          other.table !== each.table &&
          !(isAlone(other) || isAlone(each)),
      ),
    );
    if (run === undefined) runs.push([each]);
    else run.push(each);
  }
  return runs;
};

const inWords = (run: readonly Tampering[]) =>
  run.map(({ table, what }) => `${table}, ${what}`).join("; ");

test.each(runsOf(TAMPERINGS).map((run) => [run[0]?.by ?? "", inWords(run), run] as const))(
  "%s names each of these changes: %s",
  async (_by, _what, run) => {
    await using database = await copyOf(honest);
    for (const { sql } of run) await alterLog(database, sql);
    const [{ by, recomputed } = { by: "reconcile" as const }] = run;
    if (recomputed === "digests") await recomputeDigests(database);
    if (recomputed === "chains") {
      await completeChains(database);
      await chainInputsAnew(database);
    }
    const { code, stdout, stderr } = await runFinder(by, database);
    const lines = `${stdout}${stderr}`.split("\n");
    for (const each of run) {
      const others = run.filter((other) => other !== each);
      const own = lines.filter(
        (line) => each.says.test(line) && !others.some(({ says }) => says.test(line)),
      );
      // A line that names it alone.
      expect.soft(own, `${each.table}, ${each.what}`).not.toEqual([]);
    }
    expect(code).toBe(1);
  },
  60_000,
);
