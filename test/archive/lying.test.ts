/** Archives that somebody edited: by accident, and with every hash made anew. */
import { randomBytes } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportLog } from "../../src/archive/export-log.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import type { AppendBatch } from "../../src/log/fact.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterFirstBlock } from "../log/damage.ts";
import { temporaryFolder } from "../service/process.ts";
import { forged, manifestIn } from "./forging.ts";

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let archive: string;
let publicKey: string;

beforeAll(async () => {
  [register, folder] = await Promise.all([demoRegister(), temporaryFolder()]);
  const { database, advance } = register;
  await advance(60, 1_000, { appendOnly: true });
  const key = await openDeploymentKey(database, randomBytes(32));
  await signHead(database.sql, key);
  ({ publicKey } = key);
  archive = join(folder.path, "archive");
  await exportLog(database, {
    ...{ folder: archive, signal: new AbortController().signal },
    limits: { maxFacts: 200, maxBytes: 1_000_000, maxCheckpoints: 20 },
  });
});
afterAll(async () => {
  await register[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const copied = async (name: string): Promise<string> => {
  const dir = join(folder.path, name);
  await cp(archive, dir, { recursive: true });
  return dir;
};

const verify = (dir: string, ...args: readonly string[]) =>
  runCommand(["archive", "verify", dir, ...args], {});

/** The first event with one byte changed. */
const otherFact = (batch: AppendBatch): AppendBatch => {
  const place = batch.facts.findIndex(({ kind }) => kind === "event");
  const facts = batch.facts.map((fact, n) => {
    if (n !== place || fact.kind === "removal") return fact;
    const contents = Buffer.from(fact.contents);
    contents.writeUInt8(contents.readUInt8(contents.length - 1) ^ 1, contents.length - 1);
    return { ...fact, contents };
  });
  return { ...batch, facts };
};

test("an untouched archive of several chunks is whole", async () => {
  expect((await manifestIn(archive)).files.length).toBeGreaterThan(2);
  expect(await verify(archive, "--key", publicKey)).toMatchObject({ code: 0, stderr: "" });
});

test("a chunk with one other byte is refused by name, with what to do", async () => {
  const dir = await copied("byte");
  const [, { name } = { name: "" }] = (await manifestIn(dir)).files;
  const bytes = await readFile(join(dir, name));
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
  await writeFile(join(dir, name), bytes);
  const { code, stderr } = await verify(dir);
  expect(code).toBe(1);
  expect(stderr).toContain(`ArchiveDamagedError: ${join(dir, name)}: its SHA-256 is`);
  expect(stderr).toContain("copy this file again from where the archive is whole");
});

test("a chunk that is cut or missing is refused by name", async () => {
  const dir = await copied("cut");
  const [{ name } = { name: "" }] = (await manifestIn(dir)).files;
  await writeFile(join(dir, name), (await readFile(join(dir, name))).subarray(0, 100));
  expect((await verify(dir)).stderr).toContain(`${join(dir, name)}: it has 100 bytes`);
});

test("an edited manifest is refused, and so is one that is no JSON", async () => {
  const dir = await copied("manifest");
  const path = join(dir, "manifest.json");
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace(/"facts": (\d+)/, '"facts": 1$1'));
  const edited = await verify(dir);
  expect(edited.code).toBe(1);
  expect(edited.stderr).toMatch(
    /manifest\.json: its root is \w+, but its content has \w+: it was edited/,
  );
  await writeFile(path, text.slice(0, 100));
  expect((await verify(dir)).stderr).toContain(`${path}: it is not JSON with a root`);
});

test("a changed fact with every hash made anew is found by the signed head", async () => {
  const dir = await copied("lying");
  await forged(dir, otherFact);
  const { code, stderr } = await verify(dir);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ArchiveUntrustedError: \S+lying: its facts lead to the hash \w+ at checkpoint \d+, but dep_\w+ signed/,
  );
});

test("a changed fact without the signed head is found by the given key", async () => {
  const dir = await copied("headless");
  await forged(dir, otherFact, { head: null });
  expect((await verify(dir)).stdout).toContain(
    "taken on faith: that the facts are those of the log",
  );
  const { code, stderr } = await verify(dir, "--key", publicKey);
  expect(code).toBe(1);
  expect(stderr).toContain("it has no signed head of the log to check with --key");
});

test("another chain's id is found by the signed head", async () => {
  const dir = await copied("chain");
  await forged(dir, (batch) => batch, { chainId: "another" });
  expect((await verify(dir)).stderr).toContain("the signature of its head is not one of dep_");
});

test("a damaged log is not exported", async () => {
  await using damaged = await register.copy();
  await alterFirstBlock(damaged.database);
  const exporting = exportLog(damaged.database, {
    folder: join(folder.path, "damaged"),
    signal: new AbortController().signal,
  });
  await expect(exporting).rejects.toThrow(
    "log_blocks or log_block_chain is not what was appended; nothing of it was exported",
  );
});
