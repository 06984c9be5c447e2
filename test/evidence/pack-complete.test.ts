/** Whether nothing is missing in a pack: what was left out of the opening, and what an outside thing shows of it. */
import { randomBytes } from "node:crypto";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { recordAct } from "../../src/audit/sequence/acts.ts";
import { keyIdOf } from "../../src/audit/sequence/deployment-key.ts";
import { entriesAt, entryHash } from "../../src/audit/sequence/sequence.ts";
import { openPack } from "../../src/evidence/pack/form.ts";
import { reread } from "../../src/evidence/pack/reread.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { readExcerpt } from "../../src/ledger/proof/excerpt.ts";
import { createWanted, factsOf } from "../../src/ledger/reading/facts.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { openSource } from "../../src/ledger/sources/open-source.ts";
import { entriesOf } from "../audit/sequence-entries.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { temporaryFolder } from "../service/process.ts";
import { edited, manifestOf, packOfVersion1, signAnew } from "./packs.ts";

const COUNT = 130;
const [FIRST, LAST] = [70, 110];

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let coinType = "";
let ledger = "";
let upgrade = -1;
const key = generateKeyPair();
const masterKey = randomBytes(32).toString("base64");

const make = async (name: string, ...args: readonly string[]) => {
  const out = join(folder.path, name);
  const ran = await runCommand(["audit-pack", "--coin", coinType, ...args, "--out", out], {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey,
    LEDGER_SOURCE: `dir:${ledger}`,
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  });
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  return out;
};

const verify = (...args: readonly string[]) => runCommand(["audit-pack", "verify", ...args], {});

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  ledger = join(folder.path, "ledger");
  const options = { checkpoints: COUNT, seed: 11, format: "chk", epochLength: 50 } as const;
  const { chainId, packages, coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  coinType = coinTypes[0]?.coinType ?? "";
  const following = await follow(database, { chainId, packages });
  const files = Array.from({ length: COUNT }, (_, at) => join(ledger, `${at}.chk`));
  const raws = await Promise.all(files.map((file) => readCheckpointFile(file)));
  upgrade = raws.findIndex((raw) =>
    decodeCheckpoint(raw).transactions.some((transaction) =>
      transaction.packages.some(({ id }) => id === packages[1]),
    ),
  );
  await following.append(raws);
  await following.project(1_000);
  await database.transaction(async ({ sql }) => {
    await recordAct(sql, { command: "rebuild", details: { pipeline: "x" }, on: "deployment" });
    await recordAct(sql, {
      command: "keys create",
      details: { id: "k" },
      on: { coinType: coinType },
    });
  });
  const range = ["--from", `${FIRST}`, "--to", `${LAST}`];
  await make("whole", ...range);
  await make("proven", ...range, "--opening", "proven");
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const copyOf = async (name: string) => {
  const copy = await temporaryFolder();
  await cp(join(folder.path, name), copy.path, { recursive: true });
  return copy;
};

const tiers = async (...args: readonly string[]) => {
  const { code, stdout } = await verify(...args, "--json");
  const { verdict } = JSON.parse(stdout);
  return [code, verdict.authentic.holds, verdict.consistent.holds, verdict.complete.holds];
};

/** An entry as `GET /sequence` gives it. */
const entryOf = (
  body: Readonly<Record<string, string>>,
  { kind = "coin", number = "17", previous = "ab".repeat(32), by = key } = {},
) => {
  const entry = { number, previous, kind, body, at: "2026-07-01T00:00:00.000Z" };
  const signed: JsonValue = { ...entry, purpose: "holderbook-sequence-v1" };
  const signature = signBytes(Buffer.from(canonicalJson(signed)), secretKeyOf(by.secretKey));
  return { ...entry, keyId: keyIdOf(by.publicKey), signature };
};

test("a pack's bytes alone yield the input versions of each transaction, equal to log_inputs", async () => {
  const path = join(folder.path, "whole");
  const { packages } = await manifestOf(path);
  const wanted = createWanted(packages);
  const computed: unknown[] = [];
  for (const name of await readdir(join(path, "checkpoints"))) {
    const sequence = BigInt(name.replace(".binpb", ""));
    const bytes = await readFile(join(path, "checkpoints", name));
    const { checkpoint, versionsBefore } = await readExcerpt(sequence, bytes, wanted);
    for (const fact of factsOf(checkpoint)) {
      if (fact.kind === "event" || fact.coinType !== coinType) continue;
      const version = versionsBefore.get(fact.transaction)?.get(fact.objectId) ?? null;
      computed.push([sequence, fact.transaction, fact.objectId, version?.toString() ?? null]);
    }
  }
  const rows = await database.sql`
    select i.checkpoint, i.transaction, f.object_id, i.version
    from log_inputs i join log_facts f using (checkpoint, transaction, index)
    where f.kind = 1 and f.coin_type = ${coinType} and checkpoint <= ${LAST}`;
  const inOrder = (all: readonly unknown[]) => all.map((row) => `${row}`).toSorted();
  expect(computed.length).toBeGreaterThan(100);
  expect(inOrder(computed)).toEqual(inOrder(rows.map((row) => Object.values(row))));
});

test("each tier has its own word, reason and exit code", async () => {
  await using pack = await copyOf("whole");
  await signAnew(pack.path, undefined, key);
  expect(await tiers(pack.path)).toEqual([0, null, true, null]);
  expect(await tiers(pack.path, "--key", key.publicKey)).toEqual([0, true, true, null]);
  const all = ["--require", "authentic,consistent,complete"];
  const open = await verify(pack.path, "--key", key.publicKey, ...all);
  expect(open).toMatchObject({ code: 3, stderr: "required, and not shown: complete\n" });
  expect(await verify(pack.path, "--require", "authentic")).toMatchObject({ code: 3 });
  expect(await tiers(pack.path, "--key", generateKeyPair().publicKey)).toEqual([
    1,
    false,
    null,
    null,
  ]);
  expect(await verify(pack.path, "--require", "true")).toMatchObject({ code: 2 });
  expect(await verify(pack.path, "--since", "1")).toMatchObject({ code: 2 });
  const source = ["--source", `dir:${ledger}`];
  const whole = await verify(pack.path, "--key", key.publicKey, ...source, ...all);
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  expect(whole.stdout).toContain("they begin with the ledger itself, before which there was no");
  // From in between, the beginning stays open.
  expect(await tiers(pack.path, ...source, "--since", "30")).toEqual([0, null, true, null]);
});

test("what a source or the auditor did not supply is no finding about the pack", async () => {
  const whole = join(folder.path, "whole");
  const none = join(folder.path, "none");
  // At once: the option belongs to `verify`, although `audit-pack` has one of the same name.
  const unread = await verify(whole, "--source", `dir:${none}`, "--retry-for", "0");
  expect(unread).toMatchObject({
    code: 3,
    stderr: "the source lacks data that the check needs\n",
  });
  expect(unread.stdout).toContain(`not shown: what dir:${none} has: cannot read ${none}`);
  expect(await verify(none)).toMatchObject({ code: 2, stdout: "" });
  expect(await verify(whole, "--committee-from", none)).toMatchObject({ code: 2, stdout: "" });
  const file = join(folder.path, "about-heads.ndjson");
  await using own = await copyOf("whole");
  await signAnew(own.path, undefined, key);
  const head = entryOf({ chainId: "c", checkpoint: "9", hash: "cd".repeat(32) }, { kind: "head" });
  await writeFile(file, JSON.stringify(head));
  const other = await verify(own.path, "--entry", file, "--require", "complete");
  expect(other).toMatchObject({ code: 3 });
  expect(other.stdout).toContain("the entries: none of them is about the token's facts");
});

test("versions of the contract from before the range are reported as unproven", async () => {
  const whole = join(folder.path, "whole");
  const source = ["--source", `dir:${ledger}`, "--require", "complete"];
  const from = (since: string) => verify(whole, ...source, "--since", since);
  const says = "not shown: that the contract has no other version from before checkpoint 2";
  // The contract is published in checkpoint 1, and the token's package in 2.
  expect(await from("2")).toMatchObject({ code: 0, stdout: expect.stringContaining(says) });
  expect((await from("1")).stdout).not.toContain("no other version");
});

test("facts from before the first register that a complete pack omits are detected, whatever became of them", async () => {
  const whole = join(folder.path, "whole");
  const pack = new Map(await openPack(whole));
  const manifest = await manifestOf(whole);
  const source = openSource(`dir:${ledger}`);
  const { signal } = new AbortController();
  const read = () => reread(pack, manifest, source, signal, 2n);
  expect(await read()).toMatchObject({ beginning: expect.stringContaining("in checkpoint 2") });
  pack.delete("checkpoints/10.binpb");
  await expect(read()).rejects.toThrow(/10\.binpb: leaves out transaction \w+, which concerns/);
  await source.close();
});

test("a pack that begins before the token was made is complete where its publication was read", async () => {
  const early = await make("before", "--from", "0", "--to", "40");
  const ran = await verify(
    early,
    "--source",
    `dir:${ledger}`,
    "--since",
    "1",
    "--require",
    "complete",
  );
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toMatch(
    /by: they begin with the publication of 0x\w+ in checkpoint 2, before/,
  );
});

test("a kept entry proves that no fact signed then is missing", async () => {
  await using pack = await copyOf("whole");
  await signAnew(pack.path, undefined, key);
  const { chainId } = await manifestOf(pack.path);
  const ends = await database.sql<{ checkpoint: bigint; facts: bigint; hash: Buffer }[]>`
    select checkpoint, facts, hash from log_coin_chain where coin_type = ${coinType} order by checkpoint`;
  const bodyAt = (checkpoint: number) => {
    const { facts, hash } = ends.findLast((end) => end.checkpoint <= BigInt(checkpoint)) ?? {};
    return {
      chainId,
      coinType,
      checkpoint: `${checkpoint}`,
      facts: `${facts}`,
      hash: hash?.toString("hex") ?? "",
    };
  };
  const file = join(folder.path, "entries.ndjson");
  const kept = async (...entries: readonly object[]) => {
    await writeFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    return verify(pack.path, "--entry", file, "--require", "consistent,complete");
  };
  const otherBody = { ...bodyAt(90), coinType: coinType.replace("ACME", "OTHER") };
  const other = entryOf(otherBody, { number: "19" });
  const headBody = { chainId, checkpoint: "9", hash: "cd".repeat(32) };
  const head = entryOf(headBody, { kind: "head", number: "9" });
  const whole = await kept(other, entryOf(bodyAt(LAST)), head, head);
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  expect(whole.stdout).toContain("entry 17 of the deployment's sequence, which you kept");
  const early = await kept(entryOf(bodyAt(90)));
  expect(early).toMatchObject({ code: 3 });
  expect(early.stdout).toContain("what happened behind checkpoint 90, where the entry ends");
  const behind = await kept(entryOf(bodyAt(COUNT - 1)));
  expect(behind).toMatchObject({ code: 3 });
  expect(behind.stdout).toContain(`is of checkpoint ${COUNT - 1}, behind the pack`);
  const hidden = await kept(entryOf({ ...bodyAt(90), facts: `${BigInt(bodyAt(90).facts) + 1n}` }));
  expect(hidden).toMatchObject({ code: 1, stdout: "" });
  expect(hidden.stderr).toContain("facts were left out, added or changed");
  const forged = await kept({ ...entryOf(bodyAt(LAST)), number: "18" });
  expect([forged.code, forged.stderr]).toEqual([
    1,
    expect.stringContaining("entry 18 is not signed with the key"),
  ]);
  // Each is signed, but the second names another one before it: one of both was exchanged.
  const unlinked = await kept(entryOf(bodyAt(LAST)), entryOf(otherBody, { number: "18" }));
  expect([unlinked.code, unlinked.stderr]).toEqual([
    1,
    expect.stringContaining("entry 18 does not have the hash of the one before"),
  ]);
  const twice = await kept(entryOf(bodyAt(LAST)), entryOf(bodyAt(90)));
  expect([twice.code, twice.stderr]).toEqual([
    1,
    expect.stringContaining("entry 17 was kept twice, and the two differ"),
  ]);
  expect(await kept({ checkpoint: "9" })).toMatchObject({ code: 2 });
  // By the key before: what it signed shows something where the hashes lead to it, and is no lie otherwise.
  const before = generateKeyPair();
  const earlier = entryOf(bodyAt(LAST), { by: before });
  const unknown = await kept(earlier);
  expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining("complete") });
  expect(unknown.stdout).toContain(`entry 17 is signed with a key (${earlier.keyId}) that`);
  const next = entryOf(otherBody, { number: "18", previous: entryHash(earlier) });
  expect(await kept(earlier, next)).toMatchObject({ code: 0 });
  // What was said of a log that was read anew since.
  const anew = entryOf({ of: "log" }, { kind: "correction", number: "20" });
  const hiddenBefore = entryOf({ ...bodyAt(90), facts: "1" });
  const corrected = await kept(hiddenBefore, anew);
  expect(corrected).toMatchObject({ code: 3 });
  expect(corrected.stdout).toContain(
    "1 entries are about the log that entry 20 says was read again",
  );
  // Of a pack without all facts the entry shows nothing, and nothing is said to be shown.
  await using version1 = await packOfVersion1("proven");
  await signAnew(version1.path, undefined, key);
  await writeFile(file, JSON.stringify(entryOf(bodyAt(LAST))));
  expect(await verify(version1.path, "--entry", file, "--require", "complete")).toMatchObject({
    code: 3,
  });
  // Making the pack put an entry into the sequence, for anybody to keep.
  const made = join(folder.path, "whole");
  const number = BigInt((await manifestOf(made)).coinChain?.entry ?? -1);
  const entry = (await entriesAt({ sql: database.sql }, [number])).get(number);
  await writeFile(file, JSON.stringify({ entries: [entry] }));
  expect(await verify(made, "--entry", file, "--require", "complete")).toMatchObject({ code: 0 });
});

test("kept roots prove that the registers are the published ones, and refute others", async () => {
  const made = join(folder.path, "whole");
  const manifest = await manifestOf(made);
  const published = (await entriesOf(database.sql)).filter(({ kind, body }) => {
    const at = [manifest.first.checkpoint, manifest.last.checkpoint].includes(`${body.checkpoint}`);
    return kind === "root" && at;
  });
  expect(published.map(({ body }) => body.version).toSorted()).toEqual(["1", "1", "2", "2"]);
  const file = join(folder.path, "roots.json");
  await writeFile(file, JSON.stringify(published));
  const ran = await verify(made, "--entry", file);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  for (const { number, body } of published) {
    const which = body.checkpoint === manifest.first.checkpoint ? "first" : "last";
    expect(ran.stdout).toMatch(
      new RegExp(`entry ${number} of .* names the root of version ${body.version} of the ${which}`),
    );
  }
  await using pack = await copyOf("whole");
  await signAnew(pack.path, undefined, key);
  for (const { body } of published) {
    const said = Object.fromEntries(Object.entries(body).map(([name, of]) => [name, `${of}`]));
    const other = entryOf({ ...said, root: "ab".repeat(32) }, { kind: "root" });
    await writeFile(file, JSON.stringify(other));
    expect(await verify(pack.path, "--entry", file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the deployment published another register"),
    });
  }
});

test("a role, group, holder or freeze missing from the opening is detected where the pack is complete", async () => {
  // A wallet is frozen in checkpoint 31, and no longer in 34.
  const early = await make("early", "--from", "32", "--to", "40");
  const state = await readFile(join(early, "first", "state.ndjson"), "utf8");
  const aspects = ["holder", "group", "freeze"].map((aspect) => `"aspect":"${aspect}"`);
  for (const kind of [...aspects, '"kind":"role"', '"kind":"object"']) {
    const line = state.split("\n").find((one) => one.includes(kind)) ?? "";
    expect(line, kind).not.toBe("");
    await using pack = await copyOf("early");
    await edited(pack.path, "first/state.ndjson", (text) => text.replace(`${line}\n`, ""));
    await signAnew(pack.path);
    const ran = await verify(pack.path);
    expect([ran.code, ran.stderr]).toEqual([
      1,
      // What the tables show the client finds, too.
      expect.stringMatching(/leaves out (object|role) |has another holder, group or freeze/),
    ]);
  }
});

test("a role missing from a proven opening is unproven, and reading from the beginning detects it", async () => {
  await using pack = await packOfVersion1("proven");
  const role = /\{[^\n]*"kind":"role"[^\n]*\n/;
  const state = await readFile(join(pack.path, "first/state.ndjson"), "utf8");
  const said = JSON.parse(role.exec(state)?.[0] ?? "");
  await edited(pack.path, "first/state.ndjson", (text) => text.replace(role, ""));
  await edited(pack.path, "report.md", (text) => {
    const [count = 0] = [/(\d+) of the \1 objects/.exec(text)?.[1]].map(Number);
    return text
      .replace(`| \`${said.owner}\` | \`${said.role}\` | yes | yes |\n`, "")
      .replace(`${count} of the ${count} objects`, `${count - 1} of the ${count - 1} objects`);
  });
  await signAnew(pack.path);
  expect(await tiers(pack.path)).toEqual([0, null, true, null]);
  const of = join(folder.path, "ledger-of-version-1");
  await writeDemoLedger({ dir: of, checkpoints: 60, seed: 5, format: "chk", epochLength: 20 });
  const ran = await verify(pack.path, "--source", `dir:${of}`);
  expect([ran.code, ran.stderr]).toEqual([
    1,
    expect.stringContaining(`first/state.ndjson: leaves out role `),
  ]);
  await using honest = await packOfVersion1("proven");
  expect(await tiers(honest.path, "--source", `dir:${of}`)).toEqual([0, null, true, true]);
});

test("state that a checkpoint of the pack ended before the first register cannot be in it", async () => {
  const [ended] = await database.sql<
    { owner: string; role: string; checkpoint: bigint; until: bigint }[]
  >`
    select owner, role, checkpoint, until from role_ranges
    where coin_type = ${coinType} and until <= ${FIRST} limit 1`;
  if (ended === undefined) throw new Error("no role was revoked before the first register");
  const { owner, role, checkpoint, until } = ended;
  await using pack = await copyOf("proven");
  for (const number of [checkpoint, until]) {
    const file = join("checkpoints", `${number}.binpb`);
    await cp(join(folder.path, "whole", file), join(pack.path, file));
  }
  const line = canonicalJson({ kind: "role", owner, role, checkpoint: `${checkpoint}` });
  await edited(pack.path, "first/state.ndjson", (text) => `${text}${line}\n`);
  await signAnew(pack.path);
  const ran = await verify(pack.path);
  expect([ran.code, ran.stderr]).toEqual([
    1,
    expect.stringContaining(`is not what checkpoint ${until} made of it`),
  ]);
});

test("a range without facts of the token, one with a gap and one with an upgrade verify, and say what they are", async () => {
  const quiet = await database.sql<{ from: bigint; to: bigint }[]>`
    select checkpoint as from, next - 1 as to from (
      select checkpoint, lead(checkpoint) over (order by checkpoint) as next
      from (select distinct checkpoint from log_facts where coin_type = ${coinType}) as facts
    ) as gaps where next - checkpoint > 2 limit 1`;
  const [gap] = quiet;
  if (gap === undefined) throw new Error("the token is in every checkpoint");
  const empty = await make("empty", "--from", `${gap.from}`, "--to", `${gap.to}`);
  const ran = await verify(empty);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain(
    `by: the pack has no fact of the token between checkpoints ${gap.from} and ${gap.to}: it says that nothing happened`,
  );
  const upgraded = await make("upgrade", "--from", `${upgrade - 1}`, "--to", `${upgrade + 20}`);
  expect(await tiers(upgraded, "--source", `dir:${ledger}`)).toEqual([0, null, true, true]);
});

test("a pack whose key is linked to kept entries is authentic; with a lost key's replacement or a revoked key that is unproven", async () => {
  await using pack = await copyOf("whole");
  const next = generateKeyPair();
  const [keyId, nextId] = [key, next].map(({ publicKey }) => keyIdOf(publicKey));
  const file = join(folder.path, "keys.ndjson");
  const judged = async (known: string, ...entries: readonly object[]) => {
    await writeFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    const { code, stdout } = await verify(pack.path, "--key", known, "--entry", file, "--json");
    const { verdict } = JSON.parse(stdout);
    return { code, holds: verdict.authentic.holds, says: JSON.stringify(verdict.authentic) };
  };
  const body = { keyId: nextId ?? "", publicKey: next.publicKey };
  const named = entryOf(body, { kind: "key" });
  const lost = entryOf({ ...body, lost: keyId ?? "" }, { kind: "key", by: next });
  const revoked = (from: string) =>
    entryOf(
      { of: "key", keyId: keyId ?? "", from, why: "it was copied" },
      { kind: "correction", number: "19", by: next },
    );

  await signAnew(pack.path, undefined, next);
  expect(await judged(key.publicKey, named)).toMatchObject({
    code: 0,
    holds: true,
    says: expect.stringContaining("beginning with the key given"),
  });
  expect(await judged(key.publicKey, lost)).toMatchObject({
    code: 3,
    holds: null,
    says: expect.stringContaining(`was lost, and names ${nextId} by itself`),
  });
  expect(await judged(next.publicKey, lost)).toMatchObject({ code: 0, holds: true });
  // The entry that names the next key is one of those that the key before is not believed for.
  expect(await judged(key.publicKey, named, revoked("17"))).toMatchObject({ code: 3, holds: null });
  expect(await judged(key.publicKey, named, revoked("18"))).toMatchObject({ code: 0, holds: true });
  const stranger = generateKeyPair().publicKey;
  expect(await judged(stranger, named)).toMatchObject({ code: 1, holds: false });

  // A key that no entry names is no key of the deployment, whatever was revoked.
  await signAnew(pack.path);
  expect(await judged(key.publicKey, named, revoked("17"))).toMatchObject({
    code: 1,
    holds: false,
  });

  await signAnew(pack.path, undefined, key);
  expect(await judged(key.publicKey, named, revoked("18"))).toMatchObject({
    code: 3,
    holds: null,
    says: expect.stringContaining("the signature of a pack names no entry"),
  });
});
