import { createHash, randomBytes } from "node:crypto";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson } from "../../client/canonical-json.ts";
import { generateKeyPair } from "../../client/ed25519.ts";
import { AuditPackError, verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { filesOf, openPack } from "../../src/evidence/pack/form.ts";
import { reread } from "../../src/evidence/pack/reread.ts";
import { verifyPack } from "../../src/evidence/pack/verify.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { openSource } from "../../src/ledger/sources/open-source.ts";
import { sharedTokenObjectsPipeline } from "../../src/pipelines/shared-token-objects.ts";
import { placeOf } from "../../src/projections/position.ts";
import { filesIn, manifestOf, packOfVersion1, signAnew } from "../evidence/packs.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { setHeld, setNoneHeld } from "../projections/set-watermark.ts";
import { randomFor } from "../random.ts";
import { follow } from "../service/following.ts";
import { eventually, runProgram, startProgram, temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const COUNT = 260;
const FIRST = 120;
const LAST = 240;

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let coinType = "";
let otherType = "";
let ledger = "";
let pack = "";

const masterKey = randomBytes(32).toString("base64");

const make = (args: readonly string[], settings: Readonly<Record<string, string>> = {}) =>
  runCommand(["audit-pack", "--coin", coinType, ...args], {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey,
    LEDGER_SOURCE: `dir:${ledger}`,
    ...settings,
  });

const verify = (...args: readonly string[]) => runCommand(["audit-pack", "verify", ...args], {});

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  ledger = join(folder.path, "ledger");
  pack = join(folder.path, "pack");
  const options = { checkpoints: COUNT, seed: 3, format: "chk", epochLength: 70 } as const;
  const { chainId, packages, coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  [coinType = "", otherType = ""] = coinTypes.map((each) => each.coinType);
  const following = await follow(database, { chainId, packages });
  for (let from = 0; from < COUNT; from += 65) {
    const files = Array.from({ length: 65 }, (_, at) => join(ledger, `${from + at}.chk`));
    await following.append(await Promise.all(files.map((file) => readCheckpointFile(file))));
  }
  await following.project(1_000);
  const names = join(folder.path, "names.csv");
  await writeFile(names, "12,Jane Doe\n");
  const ran = await make(
    ["--from", `${FIRST}`, "--to", `${LAST}`, "--out", pack, "--holder-names", names],
    { COMMITTEE_FILE: join(ledger, "ledger.json") },
  );
  expect(ran).toMatchObject({ code: 0, stderr: "" });
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** A copy of the pack, where nothing of the service is. */
const copied = async () => {
  const copy = await temporaryFolder();
  await cp(pack, copy.path, { recursive: true });
  return copy;
};

const withoutLine = async (file: string, matches: (line: string) => boolean) => {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const kept = lines.filter((line) => !matches(line));
  expect(kept.length).toBeLessThan(lines.length);
  await writeFile(file, kept.map((line) => `${line}\n`).join(""));
};

test("a pack is verified without database, settings or network, and the report says what that proves", async () => {
  await using copy = await copied();
  const ran = await runProgram(["audit-pack", "verify", copy.path], {});
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain(`${coinType}, checkpoints ${FIRST} to ${LAST}\n`);
  expect(ran.stdout).toMatch(/\d+ rows of \d+\.\d{6}, the last \d+ rows of \d+\.\d{6}, root/);
  expect(ran.stdout).toMatch(/^authentic \(.*\): not shown$/m);
  expect(ran.stdout).toMatch(/^consistent \(.*\): holds$/m);
  expect(ran.stdout).toMatch(/^complete \(.*\): not shown$/m);
  expect(ran.stdout).toContain("the key that it names itself");
  expect(ran.stdout).toContain("not shown: that the validators of epoch 0 in committee.json are");

  const { publicKey } = await manifestOf(pack);
  const committee = join(ledger, "ledger.json");
  const known = await verify(pack, "--key", publicKey, "--committee-from", committee);
  expect(known).toMatchObject({ code: 0, stderr: "" });
  expect(known.stdout).toContain("beginning with the committee of epoch 0, as given");
  expect(known.stdout).toContain("the manifest is signed with the key given");
  expect(known.stdout).not.toContain("anybody can make validators");
  expect(await verify(pack, "--key", randomBytes(32).toString("base64"))).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(`manifest.json: is signed with the key ${publicKey}, not with`),
  });
});

test("it contains both registers as cap-table prints them, every movement, and a page built from what was verified", async () => {
  for (const [name, at] of [
    ["first", FIRST],
    ["last", LAST],
  ] as const) {
    const args = ["--coin", coinType, "--at", `${at}`, "--format", "json"];
    const { stdout } = await runCommand(["cap-table", ...args], { DATABASE_URL: database.url });
    expect(await readFile(join(pack, name, "cap-table.json"), "utf8")).toBe(stdout);
  }
  const movements = (await readFile(join(pack, "movements.ndjson"), "utf8")).trimEnd().split("\n");
  expect(movements.length).toBeGreaterThan(10);
  const report = await readFile(join(pack, "report.md"), "utf8");
  const names = createHash("sha256").update("12,Jane Doe\n").digest("hex");
  expect(report).toContain(`${movements.length} movements of balances`);
  expect(report).toContain("signatures of validators of epochs 0 to 3");
  expect(report).toContain("## Complete: nothing of the range is missing\n\n- not shown: ");
  expect(report).toContain(`has the SHA-256 ${names} (12 bytes); it is not here`);
  expect(await filesOf(pack)).not.toContain("names.csv");
});

test("a changed byte anywhere is detected, and its file is named", async () => {
  await using copy = await copied();
  const files = [...(await filesOf(pack)), "manifest.json", "manifest.sig.json"];
  const random = randomFor("bytes of an audit pack");
  for (const file of files) {
    const path = join(copy.path, file);
    const bytes = await readFile(path);
    if (bytes.length === 0) continue;
    const at = random(bytes.length);
    await writeFile(path, bytes.with(at, (bytes[at] ?? 0) ^ (1 << random(8))));
    await expect(verifyPack(copy.path), `${file}, byte ${at}`).rejects.toThrow(
      file.startsWith("manifest") ? /manifest/ : `${file}: was changed`,
    );
    await writeFile(path, bytes);
  }
  await verifyPack(copy.path);
  await rm(join(copy.path, "checkpoints", `${LAST}.binpb`));
  await expect(verifyPack(copy.path)).rejects.toThrow(`checkpoints/${LAST}.binpb: is missing`);
});

test("the client checks what needs no ledger, says what it did not check, and detects a changed byte", async () => {
  const files = await filesIn(pack);
  const { publicKey, roots } = await manifestOf(pack);
  const found = await verifyAuditPack(files, { publicKey });
  expect(found).toMatchObject({ coinType, publicKey });
  expect(found.first).toMatchObject({ checkpoint: BigInt(FIRST), root: roots.first.root });
  expect(found.last).toMatchObject({ checkpoint: BigInt(LAST), total: BigInt(roots.last.total) });
  expect(found.checked).toHaveLength(6);
  expect(found.unchecked.join()).toContain("holderbook audit-pack verify");
  await expect(verifyAuditPack(files, { publicKey: generateKeyPair().publicKey })).rejects.toThrow(
    `is signed with the key ${publicKey}, not with`,
  );

  const random = randomFor("bytes of an audit pack, in a browser");
  for (const [file, bytes] of files) {
    if (bytes.length === 0) continue;
    const at = random(bytes.length);
    const changed = new Map(files).set(file, bytes.with(at, (bytes[at] ?? 0) ^ (1 << random(8))));
    await expect(verifyAuditPack(changed), `${file}, byte ${at}`).rejects.toThrow(
      file.startsWith("manifest") ? /manifest/ : `${file}: was changed`,
    );
  }
  const more = new Map(files).set("more.txt", new Uint8Array());
  await expect(verifyAuditPack(more)).rejects.toThrow("more.txt: is no file of the manifest");
  const less = new Map(files);
  less.delete("report.md");
  await expect(verifyAuditPack(less)).rejects.toMatchObject({
    name: "AuditPackError",
    failures: [{ file: "report.md", what: "is missing" }],
  });
});

test("the client refuses a re-signed pack whose roots or movements do not fit", async () => {
  await using copy = await copied();
  await signAnew(copy.path, undefined, undefined, false);
  // The roots' own signatures are still those of the deployment.
  await expect(verifyAuditPack(await filesIn(copy.path))).rejects.toThrow(
    "the signature of the first root does not fit the key",
  );
  const key = generateKeyPair();
  const [line = ""] = (await readFile(join(pack, "movements.ndjson"), "utf8")).split("\n");
  await withoutLine(join(copy.path, "movements.ndjson"), (one) => one === line);
  await signAnew(copy.path, undefined, key);
  const { owner } = JSON.parse(line);
  const failure = await verifyAuditPack(await filesIn(copy.path)).catch((error: unknown) => error);
  if (!(failure instanceof AuditPackError)) throw failure;
  expect(failure.failures).toMatchObject([
    { file: "movements.ndjson", what: expect.stringContaining(`${owner} held `) },
  ]);

  await using other = await copied();
  const table = join(other.path, "last", "cap-table.json");
  const text = await readFile(table, "utf8");
  const { rows } = JSON.parse(text);
  const holder = rows[0].holderId;
  await writeFile(table, text.replace(`"holderId":"${holder}"`, `"holderId":"99${holder}"`));
  await signAnew(other.path, undefined, key);
  await expect(verifyAuditPack(await filesIn(other.path))).rejects.toThrow(
    /^last\/cap-table.json: gives the root [0-9a-f]{64} of \d+, not [0-9a-f]{64} of \d+$/,
  );
});

test("omissions by someone who signs again are detected too: movements, checkpoints, members of the first register", async () => {
  const { publicKey } = await manifestOf(pack);
  const [line = ""] = (await readFile(join(pack, "movements.ndjson"), "utf8")).split("\n");
  {
    await using copy = await copied();
    await withoutLine(join(copy.path, "movements.ndjson"), (one) => one === line);
    await signAnew(copy.path);
    expect((await verify(copy.path, "--key", publicKey)).stderr).toContain("not with");
    expect(await verify(copy.path)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/AuditPackError: movements.ndjson: (line \d|0x)/),
    });
  }
  {
    // A whole checkpoint: what came later found objects that it had written.
    await using copy = await packOfVersion1("proven");
    await rm(join(copy.path, "checkpoints", "28.binpb"));
    await writeFile(join(copy.path, "role-events.ndjson"), "");
    await signAnew(copy.path);
    expect((await verify(copy.path)).stderr).toMatch(
      /checkpoints\/31\.binpb: transaction \w+ found the object 0x\w+ in version \d+, but the pack left it in version \d+: a checkpoint between is missing/,
    );
  }
  for (const kind of ["object", "membership"]) {
    await using copy = await copied();
    let isFirst = true;
    await withoutLine(join(copy.path, "first", "state.ndjson"), (one) => {
      const matches = isFirst && one.includes(`"kind":"${kind}"`) && /SharedToken|holder/.test(one);
      isFirst &&= !matches;
      return matches;
    });
    await signAnew(copy.path);
    const { code, stderr } = await verify(copy.path);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/first\/state.ndjson: leaves out|has another holder, group or freeze/),
    ]);
  }
});

test("reading the range again finds a transaction whose absence nothing else in the pack reveals", async () => {
  const source = `dir:${ledger}`;
  const whole = await verify(pack, "--source", source);
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  expect(whole.stdout).toContain(`checkpoints 0 to ${LAST} were read again`);
  expect(whole.stdout).toMatch(/^complete \(.*\): holds$/m);

  await using copy = await copied();
  const { first, last, coinType: of, packages, opening } = await manifestOf(copy.path);
  const signal = AbortSignal.timeout(60_000);
  const files = openSource(source);
  const meant = { first, last, coinType: of, packages, opening };
  const [line = ""] = (await readFile(join(pack, "movements.ndjson"), "utf8")).split("\n");
  const { checkpoint } = placeOf(BigInt(JSON.parse(line).position));
  const name = `checkpoints/${checkpoint}.binpb`;
  await rm(join(copy.path, name));
  await expect(reread(await openPack(copy.path), meant, files, signal)).rejects.toThrow(
    `${name}: leaves out transaction ${JSON.parse(line).txDigest}, which concerns the token`,
  );
  const other = { ...meant, first: { ...first, digest: last.digest } };
  await expect(reread(await openPack(pack), other, files, signal)).rejects.toThrow(
    "it is of another chain",
  );
});

test("a balance of the first register that no checkpoint supplied is detected", async () => {
  await using copy = await copied();
  const file = join(copy.path, "first", "state.ndjson");
  const lines = (await readFile(file, "utf8")).split("\n");
  const at = lines.findIndex((line) => line.includes("shared_token::SharedToken"));
  const object = JSON.parse(lines[at] ?? "");
  const contents = Buffer.from(object.contents, "base64");
  contents.writeUInt8(contents.readUInt8(64) ^ 1, 64);
  const changed = canonicalJson({ ...object, contents: contents.toString("base64") });
  await writeFile(file, lines.with(at, changed).join("\n"));
  await signAnew(copy.path);
  expect((await verify(copy.path)).stderr).toMatch(
    new RegExp(`first/state.ndjson: object ${object.objectId} is not what the ledger made of it`),
  );
});

test("a pack that takes its first register as signed begins with a checkpoint that names the committee", async () => {
  const out = join(folder.path, "signed");
  const ran = await make(["--from", "200", "--to", "220", "--out", out, "--opening", "signed"]);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toMatch(/\n\d of the \d+ objects/);
  const { trust } = await manifestOf(out);
  expect(trust).toMatchObject({ epoch: "2", checkpoint: "139" });
  const given = await verify(out, "--trust", `139:${trust.digest}`);
  expect(given.stdout).toContain("names, as given");
  const other = await verify(out, "--trust", "1".repeat(32));
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(`the committee that checkpoint 139 of digest ${trust.digest}`);
  const end = join(ledger, "139.chk");
  expect(await verify(out, "--committee-from", end)).toMatchObject({ code: 0 });
  const wrong = await verify(out, "--committee-from", join(ledger, "ledger.json"));
  expect(wrong.stderr).toContain("is the committee of epoch 2; one of epoch 0 was given");
});

test("a pack that cannot be made is refused, and leaves no folder behind", async () => {
  const out = join(folder.path, "refused");
  const here = async () => (await readdir(folder.path)).filter((name) => name.includes("refused"));
  const range = ["--from", `${FIRST}`, "--to", `${LAST}`, "--out", out];
  expect(await make(range)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is of epoch 0: set COMMITTEE_FILE"),
  });
  expect(await make(["--from", "9", "--to", "9", "--out", out])).toMatchObject({ code: 2 });
  expect(await make(["--from", "9", "--out", out])).toMatchObject({ code: 2 });
  expect(await make(["--from", "2025-01-02", "--to", "9", "--out", out])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no checkpoint after the second 1735862399 is indexed yet"),
  });
  const gone = join(ledger, `${LAST}.chk`);
  const bytes = await readFile(gone);
  await rm(gone);
  const missing = await make([...range, "--retry-for", "1s"], {
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  });
  await writeFile(gone, bytes);
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toMatch(
    new RegExp(`PackSourceError: the pack needs checkpoint ${LAST}, which dir:.* does not give`),
  );
  expect(await here()).toEqual([]);
});

test("a folder whose parent is missing is refused at once, in one line that names the parent", async () => {
  const missing = join(folder.path, "missing");
  const args = ["--from", `${FIRST}`, "--to", `${LAST}`, "--out", join(missing, "pack")];
  expect(await make(args)).toMatchObject({
    code: 1,
    stderr: `holderbook: ParentFolderMissingError: ${join(missing, "pack")} cannot be written: there is no folder ${missing}; create it, or name another one\n`,
  });
});

test("a stopped command says so in one line", async () => {
  const out = join(folder.path, "ended");
  await using program = startProgram(
    ["audit-pack", "--coin", coinType, "--from", `${FIRST}`, "--to", `${LAST}`, "--out", out],
    {
      DATABASE_URL: database.url,
      CALLBACK_MASTER_KEY: masterKey,
      LEDGER_SOURCE: "http://127.0.0.1:1/store",
      SECURITY_TOKEN_PACKAGES: "0x5",
      LOG_LEVEL: "warn",
    },
  );
  await eventually("it waits for its source", async () =>
    program.printed.stderr.includes("asking the source again")
      ? { done: true }
      : { seen: program.printed.stderr },
  );
  program.signal("SIGTERM");
  expect(await program.ended).toBe(1);
  const last = program.printed.stderr.split("\n").at(-2);
  expect(last).toBe("holderbook: interrupted: SIGTERM");
});

test("a pack of a token is made beside another one in quarantine, says whose digest it lacks, and none of the held one is made", async () => {
  const { watermark } = sharedTokenObjectsPipeline;
  const hold = (coin: string) =>
    setHeld(database, watermark, coin, { from: 200n, reason: "cannot be read" });
  try {
    await hold(otherType);
    const out = join(folder.path, "beside-held");
    const span = ["--from", `${FIRST}`, "--to", `${LAST}`, "--no-papers"];
    const committee = { COMMITTEE_FILE: join(ledger, "ledger.json") };
    const made = await make([...span, "--out", out], committee);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toContain(
      `without a digest of shared_token_objects: ${otherType} is in quarantine in shared_token_objects from checkpoint 200 on: cannot be read`,
    );
    const { digests } = await manifestOf(out);
    expect(Object.keys(digests.first)).toContain("shared_token_objects");
    expect(Object.keys(digests.last)).not.toContain("shared_token_objects");
    expect((await verify(out)).code).toBe(0);

    await hold(coinType);
    const [refusedAt, before] = [join(folder.path, "held"), join(folder.path, "before-held")];
    const refused = await make([...span, "--out", refusedAt], committee);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`${coinType} is in quarantine`);
    await expect(readdir(refusedAt)).rejects.toThrow("ENOENT");
    const sound = ["--from", `${FIRST}`, "--to", "199", "--no-papers", "--out", before];
    expect(await make(sound, committee)).toMatchObject({ code: 0, stderr: "" });
  } finally {
    await setNoneHeld(database, watermark);
  }
});
