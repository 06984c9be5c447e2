/** A guided log as an archive: what was read of it goes out and comes back, and nothing else is claimed. */
import { execFile } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { exportLog } from "../../src/archive/export-log.ts";
import { importLog } from "../../src/archive/import-log.ts";
import { verifyArchive } from "../../src/archive/verify-archive.ts";
import { acquireWriterLock } from "../../src/database/writer-lock.ts";
import type { AppendBatch } from "../../src/log/fact.ts";
import { guidedRanges } from "../../src/log/guided.ts";
import { GUIDED, guidedLog, LAST } from "../audit/guided-demo.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { forged, manifestIn } from "./forging.ts";
import { logRows } from "./log-rows.ts";

const { signal } = new AbortController();

const { demo, database, folder, settings, close } = await guidedLog();
afterAll(close);

const exported = async (name: string, ...args: readonly string[]): Promise<string> => {
  const dir = join(folder.path, name);
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir, ...args], settings);
  expect(code, stderr).toBe(0);
  return dir;
};

test("an imported archive of a guided log is the same guided log, and goes on", async () => {
  const dir = await exported("whole");
  const verified = await runCommand(["archive", "verify", dir], demo.settings);
  expect(verified.code, verified.stderr).toBe(0);
  const read = demo.read.filter((sequence) => sequence <= GUIDED).length;
  expect(verified.stdout).toContain(
    `taken on faith: checkpoints 0 to ${GUIDED} were read guided, ${read} of them: that no other concerns the contract`,
  );
  expect(verified.stdout).not.toContain("no signature of the validators covers");
  await using imported = await freshDatabase();
  const own = { ...settings, DATABASE_URL: imported.url };
  const { code, stderr } = await runCommand(["archive", "import", dir], own);
  expect(code, stderr).toBe(0);
  expect(await logRows(imported)).toEqual(await logRows(database));
  expect(await guidedRanges(imported)).toEqual(await guidedRanges(database));
  const whole = await runCommand(["verify", "--log"], own);
  expect(whole.code, whole.stdout).toBe(0);
  const indexed = await runCommand(["index", "--last", `${LAST}`], own);
  expect(indexed.code, indexed.stderr).toBe(0);
  const digests = (url: string) => runCommand(["digest"], { ...settings, DATABASE_URL: url });
  expect(await digests(imported.url)).toEqual(await digests(database.url));
});

test("chunks of any size, and an export that ends or begins where nothing was read, make the same log", async () => {
  const unread = demo.seen
    .map(({ mark }) => mark.sequence)
    .filter((sequence) => sequence < 60n && !demo.read.includes(sequence));
  const to = unread.at(-1) ?? 0n;
  const dir = join(folder.path, "small");
  const limits = { maxFacts: 7, maxBytes: 1 << 20, maxCheckpoints: 3 };
  const first = await exportLog(database, { folder: dir, limits, to, signal });
  // The last checkpoint that was read up to there.
  expect(first.last).toBe(demo.read.findLast((sequence) => sequence < to));
  await exportLog(database, { folder: dir, limits, signal });
  const archive = await verifyArchive(dir, {}, signal);
  expect(archive.manifest.files.length).toBeGreaterThan(10);
  await using imported = await freshDatabase();
  await using lock = await acquireWriterLock(imported, "log", { signal });
  const { session } = lock;
  await importLog(imported, { folder: dir, archive, shownBy: null, session, signal });
  expect(await logRows(imported)).toEqual(await logRows(database));
  expect(await guidedRanges(imported)).toEqual(await guidedRanges(database));
  const later = await exported("later", "--from", `${to}`);
  expect((await manifestIn(later)).first).toBe(to);
  await verifyArchive(later, {}, signal);
});

test("raw checkpoints that were read fit, without the metadata of foreign coins", async () => {
  const dir = await exported("raw", "--raw", "all");
  const { rawCheckpoints } = await verifyArchive(dir, {}, signal);
  const whole = LAST - GUIDED;
  expect(rawCheckpoints).toBe(demo.read.filter((each) => each <= GUIDED).length + whole);
});

const dropping = (batch: AppendBatch): AppendBatch => {
  const at = batch.blocks.findIndex(({ first }) => first > 10n);
  return {
    ...batch,
    blocks: batch.blocks.toSpliced(at, 1),
    facts: batch.facts.filter(({ checkpoint }) =>
      batch.blocks.every(({ first }, n) => n !== at || first !== checkpoint),
    ),
  };
};

test.each([
  [
    "a checkpoint left out, and its proof left in",
    dropping,
    /the signature on checkpoint \d+: the chunk has no digest of its checkpoint/,
  ],
  [
    "a proof that is said to cover more",
    (batch: AppendBatch): AppendBatch => ({
      ...batch,
      proofs: (batch.proofs ?? []).map((proof, n) =>
        n === 5 ? { ...proof, firstCheckpoint: proof.firstCheckpoint - 1n } : proof,
      ),
    }),
    /it is said to cover checkpoints from \d+ on/,
  ],
])("a forged guided chunk is found: %s", async (name, change, says) => {
  const dir = join(folder.path, name.replaceAll(" ", "-"));
  await cp(await exported("to-forge"), dir, { recursive: true });
  await forged(dir, change);
  const { code, stderr } = await runCommand(["archive", "verify", dir], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(says);
});

test("a guided chunk without a proof is named as unsigned", async () => {
  const dir = join(folder.path, "unsigned");
  await cp(await exported("to-strip"), dir, { recursive: true });
  const gone = demo.read.filter((sequence) => sequence > 10n && sequence < 60n)[2];
  await forged(dir, (batch) => ({
    ...batch,
    proofs: (batch.proofs ?? []).filter(({ lastCheckpoint }) => lastCheckpoint !== gone),
  }));
  const { stdout } = await runCommand(["archive", "verify", dir], {});
  expect(stdout).toContain(
    `checkpoints ${gone} to ${gone}: no signature of the validators covers them`,
  );
});

const run = promisify(execFile);
const isHere = await Promise.all([run("python3", ["-V"]), run("zstd", ["-V"])]).then(
  () => true,
  () => false,
);

test.skipIf(!isHere)("the reference reader follows the chain over what was not read", async () => {
  const dir = await exported("python");
  const { stdout } = await run("python3", [
    "-B",
    join(import.meta.dirname, "../../docs/examples/read_archive.py"),
    dir,
  ]);
  expect(stdout).toMatch(/\d+ facts in \d+ chunks lead to [0-9a-f]{64}/);
});

test("a Parquet export of a guided log ends where nothing was read, too", async () => {
  const dir = join(folder.path, "parquet");
  await mkdir(dir);
  const to = demo.read.filter((sequence) => sequence < 60n).at(-1) ?? 0n;
  const { code, stderr } = await runCommand(
    [
      "archive",
      "export",
      "--format",
      "parquet",
      "--dir",
      dir,
      "--to",
      `${to + 1n}`,
      "--at",
      `${to}`,
    ],
    settings,
  );
  expect(code, stderr).toBe(0);
});

test("a log that was read guided again after a pause is whole, and so is its archive", async () => {
  await using paused = await freshDatabase();
  const own = { ...settings, DATABASE_URL: paused.url };
  await demo.append(paused, 60);
  expect(await runCommand(["index", "--last", "90"], own)).toMatchObject({ code: 0 });
  await demo.append(paused, GUIDED);
  expect(await runCommand(["index", "--last", `${LAST}`], own)).toMatchObject({ code: 0 });
  expect(await guidedRanges(paused)).toEqual([
    { first: 0n, last: 60n },
    { first: 91n, last: BigInt(GUIDED) },
  ]);
  const whole = await runCommand(["verify", "--log"], own);
  expect(whole.code, whole.stdout).toBe(0);
  const dir = join(folder.path, "paused");
  expect(await runCommand(["archive", "export", "--dir", dir], own)).toMatchObject({ code: 0 });
  await using imported = await freshDatabase();
  const into = { ...settings, DATABASE_URL: imported.url };
  const { code, stdout, stderr } = await runCommand(["archive", "import", dir], into);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("checkpoints 0 to 60 were read guided");
  expect(stdout).toContain(`checkpoints 91 to ${GUIDED} were read guided`);
  expect(await logRows(imported)).toEqual(await logRows(paused));
  expect(await guidedRanges(imported)).toEqual(await guidedRanges(paused));
});
