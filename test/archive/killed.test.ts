// @module-tag thorough
/** Exports and imports that are killed, run at the same time, or meet a full disk. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lockExports } from "../../src/archive/export-lock.ts";
import { readManifest } from "../../src/archive/manifest.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { endWithRun } from "../run-folder.ts";
import { temporaryFolder } from "../service/process.ts";
import { logRows } from "./log-rows.ts";

const PROGRAM = join(import.meta.dirname, "in-small-chunks.ts");

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
const { signal } = new AbortController();

beforeAll(async () => {
  [register, folder] = await Promise.all([demoRegister(), temporaryFolder()]);
  await register.advance(120, 1_000, { appendOnly: true });
});
afterAll(async () => {
  await register[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const settings = () => ({ DATABASE_URL: register.database.url });

/**
 * Runs it again and again, and kills it after some chunks and a moment, until it ends by itself.
 * @returns how many were killed
 */
const killedAgainAndAgain = async (...args: readonly string[]): Promise<number> => {
  for (let run = 0; ; run += 1) {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    endWithRun(child);
    const ended = once(child, "close");
    let chunks = 0;
    createInterface(child.stdout).on("line", () => {
      chunks += 1;
      // Between the steps of a chunk as well: reading, appending, writing, renaming, listing.
      if (chunks === 2 + 3 * (run % 3)) setTimeout(() => child.kill("SIGKILL"), run % 5);
    });
    const [code, by] = await ended;
    if (by !== "SIGKILL") {
      expect(code).toBe(0);
      return run;
    }
  }
};

test("an export that is killed again and again becomes the archive of one that is not", async () => {
  const dir = join(folder.path, "export");
  const killed = await killedAgainAndAgain("export", register.database.url, dir);
  expect(killed).toBeGreaterThan(3);
  const calm = join(folder.path, "calm");
  await killedAgainAndAgain("export", register.database.url, calm);
  expect((await readdir(dir)).filter((name) => name.endsWith(".part"))).toEqual([]);
  const verified = await runCommand(["archive", "verify", dir, "--json"], {});
  expect(verified.code, verified.stderr).toBe(0);
  const found = await readManifest(dir);
  expect((await readdir(dir)).toSorted()).toEqual(
    [...(found?.manifest.files.map(({ name }) => name) ?? []), "manifest.json"].toSorted(),
  );
  expect(found?.root).toBe((await readManifest(calm))?.root);
}, 240_000);

test("an import that is killed again and again becomes the same log, each run with its act", async () => {
  const dir = join(folder.path, "import");
  await killedAgainAndAgain("export", register.database.url, dir);
  await using imported = await freshDatabase();
  const killed = await killedAgainAndAgain("import", imported.url, dir);
  expect(killed).toBeGreaterThan(3);
  expect(await logRows(imported)).toEqual(await logRows(register.database));
  const packages = (await readManifest(dir))?.manifest.packages.join(",") ?? "";
  const own = {
    ...{ DATABASE_URL: imported.url, LEDGER_SOURCE: `dir:${folder.path}` },
    SECURITY_TOKEN_PACKAGES: packages,
  };
  const { code, stdout: found } = await runCommand(["verify", "--log"], own);
  expect(code, found).toBe(0);
  const root = (await readManifest(dir))?.root;
  const { stdout } = await runCommand(["acts", "--json"], own);
  const acts: { command: string; details: Record<string, unknown> }[] = JSON.parse(stdout);
  expect(acts.length).toBeGreaterThan(3);
  for (const { command, details } of acts) {
    expect(command).toBe("archive import");
    expect(details).toMatchObject({ root, to: "119", shownBy: null });
  }
}, 240_000);

test("a second export of a log at the same time is refused", async () => {
  await using _first = await lockExports(register.database, signal);
  const dir = join(folder.path, "second");
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir], settings());
  expect(code).toBe(1);
  expect(stderr).toContain("ArchiveBusyError: another archive export of this log is running");
});

test("a full disk is an error with advice, and leaves the archive as it was", async () => {
  const dir = join(folder.path, "full");
  await runCommand(["archive", "export", "--dir", dir, "--to", "50"], settings());
  const before = await readManifest(dir);
  // Every write there fails as on a full disk.
  const chunk = join(dir, `log-${"51".padStart(20, "0")}.binpb.zst`);
  await symlink("/dev/full", `${chunk}.part`);
  const full = await runCommand(["archive", "export", "--dir", dir], settings());
  expect(full.code).toBe(1);
  expect(full.stderr).toContain(
    `ArchiveWriteError: ${chunk}: the disk is full; the archive is whole as far as its manifest goes: make room`,
  );
  expect(await readManifest(dir)).toEqual(before);
  expect((await runCommand(["archive", "verify", dir], {})).code).toBe(0);
  expect(await runCommand(["archive", "export", "--dir", dir], settings())).toMatchObject({
    code: 0,
  });
  expect((await runCommand(["archive", "verify", dir], {})).stdout).toContain(
    "checkpoints 0 to 119",
  );
});

test("a path that is no folder is an error that names it", async () => {
  const dir = join(PROGRAM, "archive");
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir], settings());
  expect(code).toBe(1);
  expect(stderr).toContain(`ArchiveWriteError: ${dir}: it cannot be written: ENOTDIR`);
});

test("an archive of another deployment with the same facts is refused", async () => {
  const dir = join(folder.path, "other");
  await mkdir(dir);
  await using other = await register.copy();
  await signHead(other.database.sql, await openDeploymentKey(other.database, randomBytes(32)));
  const theirs = { DATABASE_URL: other.database.url };
  expect((await runCommand(["archive", "export", "--dir", dir], theirs)).code).toBe(0);
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir], settings());
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ArchiveOfOtherLogError: \S+other: the head of its archive is signed by dep_\w+, which is no key of this deployment; export to another folder/,
  );
});
