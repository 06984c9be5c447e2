/** Archives that somebody edited: by accident, and with every hash recomputed. */
import { randomBytes } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { signedLogHead } from "../../client/verify-log-head.ts";
import { exportLog } from "../../src/archive/export-log.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import type { AppendBatch } from "../../src/log/fact.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { runCommand } from "../commands/run-command.ts";
import { alterFirstBlock } from "../log/damage.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { editedManifest, forged, manifestIn, replaced } from "./forging.ts";

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

test("a changed fact with every hash recomputed is found by the signed head", async () => {
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

const text = z.string();
const listed = z.array(z.record(z.string(), z.json()));

test.each<[string, (files: z.infer<typeof listed>) => z.infer<typeof listed>, RegExp]>([
  ["in another order", ([a = {}, b = {}, ...others]) => [b, a, ...others], /where 0 is due/],
  ["without its first", ([, ...others]) => others, /where 0 is due/],
  ["without one in the middle", (all) => all.toSpliced(1, 1), /where \d+ is due/],
  ["with one twice", ([a = {}, ...others]) => [a, a, ...others], /where \d+ is due/],
  [
    "outside of its folder",
    ([a = {}, ...others]) => [{ ...a, name: "../secret" }, ...others],
    /it is not a manifest of holderbook-archive-v1: .*pattern.*files\[0\]\.name/,
  ],
  [
    "with a name of another place",
    ([a = {}, ...others]) => [{ ...a, name: `log-${"9".padStart(20, "0")}.binpb.zst` }, ...others],
    /where 0 is due/,
  ],
  [
    "with a length that no file has",
    ([a = {}, ...others]) => [{ ...a, bytes: 2 ** 40 }, ...others],
    /it has \d+ bytes, but the manifest 1099511627776/,
  ],
  [
    "with a member that is not known",
    ([a = {}, ...others]) => [{ ...a, more: true }, ...others],
    /it is not a manifest of/,
  ],
])("a manifest with chunks %s, and a recomputed root, is refused", async (name, change, found) => {
  const dir = await copied(name.replaceAll(" ", "-"));
  await editedManifest(dir, (body) => ({ ...body, files: change(listed.parse(body.files)) }));
  const { code, stderr } = await verify(dir);
  expect(code).toBe(1);
  expect(stderr).toContain("ArchiveDamagedError");
  expect(stderr).toMatch(found);
});

test("an archive cut at a chunk's end is whole, and shown to be another one by its root", async () => {
  const dir = await copied("shorter");
  const { root } = z.object({ root: text }).parse(JSON.parse(await manifestText(archive)));
  await editedManifest(dir, (body) => ({
    ...{ ...body, head: null },
    files: listed.parse(body.files).slice(0, -1),
  }));
  expect((await verify(dir)).code).toBe(0);
  expect((await verify(dir, "--root", root)).stderr).toContain("ArchiveUntrustedError");
  expect((await verify(dir, "--key", publicKey)).stderr).toContain("it has no signed head");
});

const manifestText = (dir: string) => readFile(join(dir, "manifest.json"), "utf8");

test("a chunk that decompresses to gigabytes is refused within the limit", async () => {
  const dir = await copied("bomb");
  // 50 KB.
  await replaced(dir, zstdCompressSync(Buffer.alloc(2 ** 30)));
  const before = process.memoryUsage().rss;
  const { code, stderr } = await verify(dir);
  expect(code).toBe(1);
  expect(stderr).toMatch(/ArchiveDamagedError: \S+: decompresses to more than 536870912 bytes/);
  expect(process.memoryUsage().rss - before).toBeLessThan(1.5 * 2 ** 30);
});

test.each([
  ["is no zstd", Buffer.from("no zstd"), /the zstd compression is damaged/],
  [
    "says that its first field has 2^40 bytes",
    zstdCompressSync(Buffer.from("128080808080802000", "hex")),
    /it is not the protobuf of a chunk/,
  ],
  [
    "has a field of another version",
    zstdCompressSync(Buffer.from("9a0600", "hex")),
    /it is not the protobuf of a chunk: .*[Uu]nknown field/,
  ],
  ["is empty", zstdCompressSync(Buffer.alloc(0)), /times and digests differ in number/],
])("a chunk that %s is refused by name", async (name, content, found) => {
  const dir = await copied(name.replaceAll(/\W/g, "-"));
  await replaced(dir, content);
  const { code, stderr } = await verify(dir);
  expect(code).toBe(1);
  expect(stderr).toContain("ArchiveDamagedError");
  expect(stderr).toMatch(found);
});

test("facts that are dropped or repeated, with every hash recomputed, are found by the signed head", async () => {
  const changes: readonly ((facts: AppendBatch["facts"]) => AppendBatch["facts"])[] = [
    (facts) => facts.slice(1),
    (facts) => facts.toSpliced(1, 0, ...facts.slice(0, 1)),
  ];
  for (const [n, change] of changes.entries()) {
    const dir = await copied(`facts-${n}`);
    await forged(dir, (batch) => ({ ...batch, facts: change(batch.facts) }));
    const { code, stderr } = await verify(dir);
    expect(code).toBe(1);
    expect(stderr).toMatch(/ArchiveUntrustedError: .* its facts lead to the hash/);
  }
});

test("a head that the operator signs with another key is shown by --key", async () => {
  const dir = await copied("resigned");
  await using other = await freshDatabase();
  const key = await openDeploymentKey(other, randomBytes(32));
  await forged(dir, otherFact, { head: null });
  const { first, files, chainId } = await manifestIn(dir);
  expect(first).toBe(0n);
  const last = files.at(-1);
  const signedHead = { chainId, checkpoint: `${last?.last}`, hash: last?.after.facts ?? "" };
  const { signature } = await key.sign(signedLogHead(signedHead));
  const { keyId, publicKey: theirs } = key;
  const head = {
    ...{ checkpoint: last?.last ?? 0n, hash: signedHead.hash },
    ...{ signature, keyId, publicKey: theirs },
  };
  await forged(dir, (batch) => batch, { head });
  // By itself it is consistent, and says what that rests on.
  expect((await verify(dir)).stdout).toContain(
    "taken on faith: that the facts are those of the log",
  );
  const { code, stderr } = await verify(dir, "--key", publicKey);
  expect(code).toBe(1);
  expect(stderr).toContain(`its head is signed by ${keyId}, not with the key of --key`);
});

test("what is refused is not imported: the database stays empty", async () => {
  const dir = await copied("not-imported");
  await forged(dir, otherFact);
  await using empty = await freshDatabase();
  const { code, stderr } = await runCommand(["archive", "import", dir], {
    DATABASE_URL: empty.url,
  });
  expect(code).toBe(1);
  expect(stderr).toContain("ArchiveUntrustedError");
  expect(await readHighWater(empty.sql)).toBeUndefined();
});
