/** `holderbook archive`: a log goes to files and comes back as the same log. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { exportLog } from "../../src/archive/export-log.ts";
import { importLog } from "../../src/archive/import-log.ts";
import { readManifest } from "../../src/archive/manifest.ts";
import { verifyArchive } from "../../src/archive/verify-archive.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { acquireWriterLock } from "../../src/database/writer-lock.ts";
import { type Committee, unpackCommittee } from "../../src/ledger/proof/committee.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { temporaryFolder } from "../service/process.ts";
import { forged, manifestIn } from "./forging.ts";
import { logRows } from "./log-rows.ts";

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

const exported = async (name: string, ...args: readonly string[]): Promise<string> => {
  const dir = join(folder.path, name);
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir, ...args], settings);
  expect(code, stderr).toBe(0);
  return dir;
};

test("an imported archive is the same log, and every pipeline runs from it without the ledger", async () => {
  const dir = await exported("whole");
  await using imported = await freshDatabase();
  const own = await offline(imported.url, dir);
  const { code, stdout, stderr } = await runCommand(["archive", "import", dir], own);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(
    /whole, checkpoints 0 to 89; \d+ facts in 1 files, 0\.\d MB\nroot [0-9a-f]{64}; [1-9]\d* signatures of the validators verified\n/,
  );
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
  expect(stdout).toContain("taken on faith: the committee of epoch 0, which signed");
  expect(stdout).toContain("taken on faith: that the facts are those of the log");
  const root = /root ([0-9a-f]{64})/.exec(stdout)?.[1] ?? "";
  const byKey = await runCommand(["archive", "verify", dir, "--key", publicKey], {});
  expect(byKey).toMatchObject({ code: 0, stderr: "" });
  expect(byKey.stdout).not.toContain("that the facts");
  const byRoot = await runCommand(["archive", "verify", dir, "--root", root], {});
  expect(byRoot.stdout).not.toContain("that the facts");
  const other = await runCommand(["archive", "verify", dir, "--root", "0".repeat(64)], {});
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(`ArchiveUntrustedError: ${dir}: its root is ${root}`);
});

test("an archive that ends earlier is appended to, and so is the log made of it", async () => {
  const dir = await exported("growing", "--to", "41");
  await using imported = await freshDatabase();
  const own = await offline(imported.url, dir);
  expect(await runCommand(["archive", "import", dir], own)).toMatchObject({ code: 0, stderr: "" });
  const before = await manifestIn(dir);
  expect(before.files.at(-1)?.last).toBe(41n);
  await exported("growing");
  expect((await manifestIn(dir)).files.slice(0, before.files.length)).toEqual(before.files);
  expect(await runCommand(["archive", "import", dir], own)).toMatchObject({ code: 0, stderr: "" });
  expect(await logRows(imported)).toEqual(await logRows(database));
  const again = await runCommand(["archive", "import", dir], own);
  expect(again.stdout).toContain("imported 0 facts of 0 files");
});

test("an archive from a later checkpoint on becomes a log that begins there", async () => {
  const dir = await exported("late", "--from", "30");
  await using imported = await freshDatabase();
  const own = await offline(imported.url, dir);
  const { code, stdout, stderr } = await runCommand(
    ["archive", "import", dir, "--key", publicKey],
    own,
  );
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect((await runCommand(["acts"], own)).stdout).toMatch(
    /^1 {2}\S+ {2}archive import \{"from":"30","root":"[0-9a-f]{64}","shownBy":"key","signedBy":"dep_\w+","to":"89"\}; by \S+ on /,
  );
  expect(stdout).toContain("whole, checkpoints 30 to 89");
  const verified = await runCommand(["verify", "--log"], own);
  expect(verified.code, verified.stdout).toBe(0);
  expect(verified.stdout).toContain("what was before checkpoint 30, with which the log begins");
});

/** Small chunks, each listed at once, and then as after a kill in the middle. */
const killedAfter = async (chunks: number, name: string, listEveryMs: number) => {
  const killing = new AbortController();
  let written = 0;
  const dir = join(folder.path, name);
  const exporting = exportLog(database, {
    ...{ folder: dir, listEveryMs, signal: killing.signal },
    limits: { maxFacts: 40, maxBytes: 1_000_000, maxCheckpoints: 10 },
    onProgress: () => {
      written += 1;
      if (written === chunks) killing.abort(new Error("killed"));
    },
  });
  await expect(exporting).rejects.toThrow("killed");
  return dir;
};

test.each([
  ["that listed its chunks", 0, 3],
  ["that had listed nothing yet", 60_000, 0],
])("an export %s goes on after a kill with what it had listed", async (_, everyMs, listed) => {
  const dir = await killedAfter(3, `killed-${everyMs}`, everyMs);
  expect((await readManifest(dir))?.manifest.files.length ?? 0).toBe(listed);
  await exported(`killed-${everyMs}`);
  const checked = await runCommand(["archive", "verify", dir, "--key", publicKey], {});
  expect(checked.code, checked.stderr).toBe(0);
});

test("an import goes on after a kill, and refuses a database with another log", async () => {
  const dir = await killedAfter(4, "import-killed", 0);
  await exported("import-killed");
  await using imported = await freshDatabase();
  const archive = await readManifest(dir);
  if (archive === null) throw new Error(`${dir} has no manifest`);
  const killing = new AbortController();
  const importing = async () => {
    await using lock = await acquireWriterLock(imported, "log", { signal: killing.signal });
    const onProgress = () => killing.abort(new Error("killed"));
    const { session } = lock;
    await importLog(imported, {
      ...{ folder: dir, archive, shownBy: null, session, signal: killing.signal, onProgress },
    });
  };
  await expect(importing()).rejects.toThrow("killed");
  const own = await offline(imported.url, dir);
  expect(await runCommand(["archive", "import", dir], own)).toMatchObject({ code: 0, stderr: "" });
  expect(await logRows(imported)).toEqual(await logRows(database));

  const other = await exported("other-end", "--to", "50");
  const refused = await runCommand(["archive", "import", other], own);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(
    "ArchiveTargetError: the database has a log of checkpoints 0 to",
  );
});

test("another digest with every hash recomputed is found by the validators' signatures", async () => {
  const dir = await exported("digest");
  await forged(dir, (batch) => {
    const [block] = batch.blocks;
    if (block === undefined) throw new Error("a chunk has blocks");
    const digests = Buffer.from(block.digests);
    const { lastCheckpoint = 0n } = batch.proofs?.[0] ?? {};
    const at = Number(lastCheckpoint - batch.first) * 32;
    digests.writeUInt8(digests.readUInt8(at) ^ 1, at);
    return { ...batch, blocks: [{ ...block, digests }] };
  });
  const { code, stderr } = await runCommand(["archive", "verify", dir], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ArchiveUntrustedError: \S+\.binpb\.zst: the signature on checkpoint \d+: the signed summary has digest/,
  );
});

test("stripped signatures are refused with a given committee, and named without one", async () => {
  const dir = await exported("stripped");
  await forged(dir, (batch) => ({ ...batch, proofs: [], committees: [] }));
  const given = await runCommand(["archive", "verify", dir], settings);
  expect(given.code).toBe(1);
  expect(given.stderr).toContain(
    "none of its 0 signatures is one of epoch 0, whose committee COMMITTEE_FILE names",
  );
  // Also to whom the root is known: the operator computes it.
  const { root } = (await readManifest(dir)) ?? { root: "" };
  for (const known of [[], ["--root", root]]) {
    const { stdout } = await runCommand(["archive", "verify", dir, ...known], {});
    expect(stdout).toContain(
      "taken on faith: checkpoints 0 to 89: no signature of the validators covers them",
    );
  }
});

test("a summary that names other validators than the given committee of the next epoch is refused", async () => {
  const dir = await exported("named");
  let given: Committee | undefined;
  await forged(dir, (batch) => {
    const { epoch, members } = batch.committees?.find((one) => one.epoch === 1n) ?? {};
    if (epoch !== undefined && members !== undefined) given = unpackCommittee(epoch, members);
    return batch;
  });
  if (given === undefined) throw new Error("the archive names no committee of epoch 1");
  const { signal } = new AbortController();
  const right = await verifyArchive(dir, { committee: given }, signal);
  expect(right.signatures).toBeGreaterThan(0);
  const members = given.members.map((member) => ({ ...member, stake: member.stake + 1n }));
  await expect(verifyArchive(dir, { committee: { ...given, members } }, signal)).rejects.toThrow(
    "it names other validators for epoch 1 than COMMITTEE_FILE does",
  );
});

test("a removed signature leaves a gap that is named, and cannot be covered by two stretches", async () => {
  const dir = await exported("gap");
  await forged(dir, (batch) => ({ ...batch, proofs: batch.proofs?.slice(1) ?? [] }));
  const { stdout } = await runCommand(["archive", "verify", dir], {});
  expect(stdout).toMatch(
    /taken on faith: checkpoints 0 to \d+: no signature of the validators covers them/,
  );
  const twice = await exported("twice");
  await forged(twice, (batch) => ({
    ...batch,
    proofs: batch.proofs?.map((proof) => ({ ...proof, firstCheckpoint: 0n })) ?? [],
  }));
  const { code, stderr } = await runCommand(["archive", "verify", twice], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/it is said to cover checkpoints from 0 on, but \d+ is due/);
});
