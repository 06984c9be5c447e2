/** `holderbook archive`: a log goes to files and comes back as the same log. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { type Manifest, readManifest } from "../../src/archive/manifest.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { temporaryFolder } from "../service/process.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;
let publicKey: string;

beforeAll(async () => {
  [folder, database] = await Promise.all([temporaryFolder(), freshDatabase()]);
  const ledger = join(folder.path, "ledger");
  await writeDemoLedger({ dir: ledger, checkpoints: 90, seed: 7, format: "chk", epochLength: 40 });
  settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${ledger}`,
    VERIFY: "signatures",
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  };
  for (const last of ["20", "59", "89"]) {
    const { code, stderr } = await runCommand(["index", "--last", last], settings);
    expect(code, stderr).toBe(0);
  }
  const key = await openDeploymentKey(database, randomBytes(32));
  await signHead(database.sql, key);
  ({ publicKey } = key);
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** Offline: its only source is an empty folder; the archive names the contract. */
const offline = async (url: string, archive: string) => {
  const nothing = join(folder.path, "nothing");
  await mkdir(nothing, { recursive: true });
  const { packages } = await manifestIn(archive);
  return {
    ...{ ...settings, DATABASE_URL: url, LEDGER_SOURCE: `dir:${nothing}` },
    SECURITY_TOKEN_PACKAGES: packages.join(","),
  };
};

const manifestIn = async (archive: string): Promise<Manifest> => {
  const found = await readManifest(archive);
  if (found === null) throw new Error(`${archive} has no manifest`);
  return found.manifest;
};

const exported = async (name: string, ...args: readonly string[]): Promise<string> => {
  const dir = join(folder.path, name);
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir, ...args], settings);
  expect(code, stderr).toBe(0);
  return dir;
};

const LOG_TABLES = [
  ...["log_facts", "log_checkpoints", "log_chain", "log_coin_chain", "log_inputs"],
  ...["log_input_chain", "log_packages", "log_proofs", "log_committees", "log_coins"],
];

/** Every row of the log, as Postgres writes it. Blocks may be cut elsewhere. */
const logRows = async ({ sql }: TestDatabase) => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of LOG_TABLES) {
    const found = await sql<{ row: string }[]>`
      select t::text as row from ${sql(table)} t order by 1`;
    rows[table] = found.map(({ row }) => row);
  }
  return rows;
};

test("an imported archive is the same log, and every pipeline runs from it without the ledger", async () => {
  const dir = await exported("whole");
  await using imported = await freshDatabase();
  const own = await offline(imported.url, dir);
  const { code, stdout, stderr } = await runCommand(["archive", "import", dir], own);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/whole, checkpoints 0 to 89, \d+ facts\nroot [0-9a-f]{64}\n/);
  expect(await logRows(imported)).toEqual(await logRows(database));
  const verified = await runCommand(["verify", "--log"], own);
  expect(verified.code, verified.stdout).toBe(0);
  expect(verified.stdout).toMatch(/^the log is intact through checkpoint 89/);

  const indexed = await runCommand(["index", "--last", "89"], own);
  expect(indexed.code, indexed.stderr).toBe(0);
  expect(await projectedRows(imported)).toEqual(await projectedRows(database));
  const digests = (url: string) => runCommand(["digest"], { ...settings, DATABASE_URL: url });
  expect(await digests(imported.url)).toEqual(await digests(database.url));
});

test("the deployment's key and the root show an archive to be the log's", async () => {
  const dir = await exported("trusted");
  const { stdout } = await runCommand(["archive", "verify", dir], {});
  expect(stdout).toContain("taken on faith: that the facts are those of the log");
  const root = /root ([0-9a-f]{64})/.exec(stdout)?.[1] ?? "";
  const byKey = await runCommand(["archive", "verify", dir, "--key", publicKey], {});
  expect(byKey).toMatchObject({ code: 0, stderr: "" });
  expect(byKey.stdout).not.toContain("that the facts");
  const byRoot = await runCommand(["archive", "verify", dir, "--root", root], {});
  expect(byRoot.stdout).not.toContain("taken on faith");
  const other = await runCommand(["archive", "verify", dir, "--root", "0".repeat(64)], {});
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(`ArchiveUntrustedError: ${dir}: its root is ${root}`);
});
