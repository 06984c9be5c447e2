/** A deployment whose key is renewed, revoked and lost, as its operator, a thief and an auditor see it. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifySequence } from "../../client/verify-sequence.ts";
import { type Statement, signedRootEntry, signedStatement } from "../../client/verify-statement.ts";
import { balancesOf } from "../../demo/model.ts";
import { type DeploymentKey, openKey, sealedKey } from "../../src/audit/sequence/deployment-key.ts";
import { keyHistory } from "../../src/audit/sequence/key-history.ts";
import { entryHash, type SequenceEntry, signedEntry } from "../../src/audit/sequence/sequence.ts";
import { runCommand } from "../commands/run-command.ts";
import { temporaryFolder } from "../service/process.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";
import { entriesOf, sequenceFaults } from "./sequence-entries.ts";
import { type RunningSigner, startSigner, TOKEN } from "./signers.ts";

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let [one, two]: RunningSigner[] = [];
let coinType = "";
let owner = "";
const masterKey = randomBytes(32);
/** The first key, as a thief has it, too. */
let stolen: DeploymentKey;
/** By name, what `statement` printed. */
const statements = new Map<string, Statement>();

beforeAll(async () => {
  register = await demoRegister();
  await register.advance(120);
  folder = await temporaryFolder();
  [one, two] = [await startSigner(), await startSigner()];
  [coinType = ""] = register.model.coins.keys();
  const held = [...balancesOf(register.model, coinType)];
  [[owner] = [""]] = held.filter(([, { tokens, grants }]) => tokens + grants > 0n);
});
afterAll(async () => {
  for (const each of [one, two, folder, register]) await each?.[Symbol.asyncDispose]();
});

const run = (args: readonly string[], settings: Readonly<Record<string, string>> = {}) =>
  runCommand(args, {
    DATABASE_URL: register.database.url,
    CALLBACK_MASTER_KEY: masterKey.toString("base64"),
    // Nothing here verified signatures of validators.
    VERIFY: "links",
    ...settings,
  });

const make = async (name: string, at: string, settings = {}, version = "2"): Promise<Statement> => {
  const args = ["--coin", coinType, "--owner", owner, "--at", at, "--statement-version", version];
  const ran = await run(["statement", ...args], settings);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const statement = JSON.parse(ran.stdout);
  statements.set(name, statement);
  return statement;
};

const rotate = async (settings: object, ...args: readonly string[]) => {
  const ran = await run(["keys", "rotate", ...args], { ...settings });
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("publish the public key") });
  return JSON.parse(ran.stdout);
};

const file = async (value: unknown): Promise<string> => {
  const path = join(folder.path, `${randomBytes(6).toString("hex")}.json`);
  await writeFile(path, JSON.stringify(value));
  return path;
};

const entries = () => entriesOf(register.database.sql);

/** What an auditor with this key, and these entries, is told of a statement. */
const verified = async (
  statement: Statement,
  key?: string,
  kept?: readonly object[],
): Promise<Awaited<ReturnType<typeof run>>> =>
  runCommand(
    [
      ...["statement", "verify", await file(statement)],
      ...(key === undefined ? [] : ["--key", key]),
      ...(kept === undefined ? [] : ["--entry", await file(kept)]),
    ],
    {},
  );

const keyOf = (name: string): string => statements.get(name)?.publicKey ?? "";
const statement = (name: string): Statement => {
  const found = statements.get(name);
  if (found === undefined) throw new Error(`there is no statement ${name}`);
  return found;
};
const numberOf = (name: string): number => {
  const { version, ...said } = statement(name);
  return Number(version === 2 && "entry" in said ? said.entry.number : Number.NaN);
};

test("keys move from a sealed one to a signer, to another signer and back, and knowing one of them leads to all others", async () => {
  await make("before", "90");
  await make("first", "91");
  await make("version 1", "92", {}, "1");
  const [row] = await register.database.sql<
    { key_id: string; public_key: string; sealed_secret: Buffer }[]
  >`select * from deployment_keys`;
  if (row === undefined) throw new Error("there is no key");
  stolen = await openKey(row, masterKey);
  if (one === undefined || two === undefined) throw new Error("the signers do not run");
  const unrotated = await run(["statement", "--coin", coinType, "--owner", owner], one.settings);
  expect(unrotated).toMatchObject({ code: 2, stdout: "" });
  expect(unrotated.stderr).toMatch(/DeploymentKeyError: .*`holderbook keys rotate`/);

  expect((await rotate(one.settings)).body.publicKey).toBe(one.publicKey);
  await make("outside", "93", one.settings);
  expect(await run(["keys", "rotate"], one.settings)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("keeps the newest key"),
  });
  expect(await run(["keys", "rotate"], two.settings)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--signer-before"),
  });
  const before = { DEPLOYMENT_SIGNER_BEFORE_TOKEN: TOKEN };
  await rotate({ ...two.settings, ...before }, "--signer-before", one.url);
  await make("other outside", "94", two.settings);
  await rotate(before, "--signer-before", two.url);
  await make("sealed", "95");
  const again = await run(["keys", "rotate"], one.settings);
  expect(again.stderr).toMatch(/was the deployment's key before, and cannot become it again/);

  const all = await entries();
  expect(await sequenceFaults(register.database.sql)).toEqual([]);
  expect(await verifySequence(all, { publicKey: keyOf("first") })).toMatchObject({
    whole: true,
    publicKey: keyOf("sealed"),
    keys: ["first", "outside", "other outside", "sealed"].map(keyOf),
  });
  const led = await verified(statement("sealed"), keyOf("first"), all);
  expect(led).toMatchObject({ code: 0, stderr: "" });
  expect(led.stdout).toMatch(/^the statement holds: /);
  expect(led.stdout).toContain("lead to it from the given key");
  expect(await verified(statement("first"), keyOf("sealed"), all)).toMatchObject({ code: 0 });
  for (const kept of [undefined, all.slice(0, 2)]) {
    const none = await verified(statement("sealed"), keyOf("first"), kept);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("not with") });
  }
  const log = await run(["verify", "--log", "--head", await file(all), "--key", keyOf("first")]);
  expect([log.code, log.stderr]).toEqual([0, ""]);
  expect(log.stdout).toMatch(/\d+ of the kept ones are signed with the given key\n$/);
});

/** As one who has the first key writes an entry in place of another, or behind it. */
const forged = async (after: SequenceEntry, said: Partial<SequenceEntry>) => {
  const { kind, body, at } = { ...after, ...said };
  const number = `${BigInt(after.number) + 1n}`;
  const entry = { number, previous: entryHash(after), kind, body, at };
  const { keyId, signature } = await stolen.sign(signedEntry(entry));
  return { ...entry, keyId, signature };
};

test("a thief of the first key who signs on after its successor, or backdates, is exposed by what others kept", async () => {
  const all = await entries();
  const change = all.findIndex(({ kind }, number) => kind === "key" && number > 0);
  const publicKey = keyOf("first");
  const [last, named] = [all[change - 1], all[change]];
  if (last === undefined || named === undefined) throw new Error("no key followed");
  const act = { kind: "act", body: { act: "1", sha256: "a".repeat(64) } } as const;
  // Behind the entry that names the next key, with its hash or with a gap.
  for (const skipped of [0, 3]) {
    const behind = await forged({ ...named, number: `${change + skipped}` }, act);
    for (const otherKeys of ["refused", "passed over"] as const) {
      const kept = [...all.slice(0, change + 1), behind];
      await expect(verifySequence(kept, { publicKey, otherKeys })).rejects.toThrow(
        skipped === 0 ? /in whose place an entry before it puts another/ : /in whose place/,
      );
    }
  }
  // In its place: whoever has both sees two entries of one number.
  const fork = await forged(last, act);
  const both = await verified(statement("first"), publicKey, [...all, fork]);
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining("was kept twice") });
  // To whoever knows the newest key it shows nothing.
  const newest = keyOf("sealed");
  expect(
    await verifySequence([fork], { publicKey: newest, otherKeys: "passed over" }),
  ).toMatchObject({ entries: [], notShown: [fork] });

  // A statement of before, with another date.
  const true2 = statement("before");
  if (true2.version !== 2) throw new Error("it is not of version 2");
  const dated = { ...true2, entry: { ...true2.entry, at: "2020-01-01T00:00:00.000Z" } };
  const { signature: rootSignature } = await stolen.sign(signedRootEntry(dated));
  const unsigned = { ...dated, rootSignature };
  const { signature } = await stolen.sign(signedStatement(unsigned));
  const lie = { ...unsigned, signature };
  expect(await verified(lie, publicKey)).toMatchObject({ code: 0 });
  const known = await verified(lie, publicKey, all);
  expect(known).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is another one than the statement names"),
  });
});

const revoke = (keyId: string, from: number) =>
  run(["keys", "revoke-deployment-key", keyId, "--from", `${from}`, "--why", "it was copied"]);

test("signatures of a revoked key from the named entry on are rejected unless later keys confirm them; a revocation that names no entry is not evidence", async () => {
  const from = numberOf("first");
  expect(await revoke(statement("sealed").keyId, 1)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no key revokes itself"),
  });
  expect((await revoke("dep_0000000000000000", 1)).stderr).toContain("was never");
  expect((await revoke(stolen.keyId, 10_000)).stderr).toContain("the sequence ends with");
  const ran = await revoke(stolen.keyId, from);
  expect(ran).toMatchObject({ code: 0 });
  const { number, ...said } = JSON.parse(ran.stdout);
  const body = { of: "key", keyId: stolen.keyId, from: `${from}`, why: "it was copied" };
  expect(said).toMatchObject({ kind: "correction", body, keyId: statement("sealed").keyId });
  expect((await revoke(stolen.keyId, from + 1)).stderr).toContain("is revoked from entry");
  expect((await keyHistory(register.database)).keys.at(-1)).toMatchObject({
    keyId: stolen.keyId,
    revoked: { entry: number, from: `${from}`, why: "it was copied" },
  });

  const all = await entries();
  expect(await sequenceFaults(register.database.sql)).toEqual([]);
  const newest = keyOf("sealed");
  // The hashes of entries of the newest key lead back to it.
  expect(await verified(statement("first"), newest, all)).toMatchObject({ code: 0 });
  expect(await verified(statement("before"), newest, all)).toMatchObject({ code: 0 });
  const without = all.filter((_, at) => at < from || at > from + 1);
  const alone = await verified(statement("first"), undefined, without);
  expect(alone).toMatchObject({ code: 1, stdout: "" });
  expect(alone.stderr).toMatch(/entry \d+, which was kept, revokes the key dep_\S+ from entry/);
  const old = await verified(statement("version 1"), newest, all);
  expect(old).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("a statement of version 1 names no entry"),
  });

  // Whoever knows the revoked key alone cannot follow it to the keys that it named afterwards.
  const stuck = await verifySequence(all, { publicKey: keyOf("first") });
  expect(stuck).toMatchObject({ whole: false, keys: [keyOf("first")] });
  expect(stuck.entries.map((entry) => Number(entry.number))).toEqual(
    Array.from({ length: from }, (_, at) => at),
  );
  const led = await verified(statement("sealed"), keyOf("first"), all);
  expect(led.code).toBe(3);
  expect(led.stdout).not.toContain("the statement holds");
  expect(led.stdout).toMatch(/not shown: entry \d+ revokes dep_/);
  const log = await run(["verify", "--log", "--head", await file(all), "--key", keyOf("first")]);
  expect(log.code).toBe(3);
  const own = await run(["verify", "--log"]);
  expect(own.code).toBe(0);
  // A source knows nothing of keys.
  expect(own.stdout).toMatch(
    /^taken on faith: that entries \d+ to \d+ .* signed their hashes, vouch for them$/m,
  );
  const whole = await run(["verify", "--log", "--head", await file(all), "--key", newest]);
  expect(whole).toMatchObject({ code: 0, stdout: expect.not.stringContaining("not shown") });
});

test("a key cannot revoke itself, and a former key revokes nothing", async () => {
  const all = await entries();
  const [first] = all;
  if (first === undefined) throw new Error("there are no entries");
  const body = { of: "key", keyId: stolen.keyId, from: "0", why: "" };
  const own = await forged(first, { kind: "correction", body });
  await expect(verifySequence([first, own], { publicKey: keyOf("first") })).rejects.toThrow(
    "revokes the key that signed it",
  );
  const newest = all.at(-1);
  if (newest === undefined) throw new Error("there are no entries");
  const of = { ...body, keyId: newest.keyId };
  const former = await forged(newest, { kind: "correction", body: of });
  const judged = await verifySequence([...all, former], {
    publicKey: keyOf("sealed"),
    otherKeys: "passed over",
  });
  expect(judged.revoked.map(({ keyId }) => keyId)).toEqual([stolen.keyId]);
  expect(judged.notShown).toEqual([former]);
});

test("a lost key is replaced by one that names itself; this is refused while the old key lives, and proves nothing to those who know the old key", async () => {
  expect(await run(["keys", "rotate", "--lost"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("it is not lost"),
  });
  const other = { CALLBACK_MASTER_KEY: randomBytes(32).toString("base64") };
  expect((await run(["keys", "rotate"], other)).stderr).toContain("SealedError");
  const entry = await rotate(other, "--lost");
  expect(entry).toMatchObject({ kind: "key", body: { lost: statement("sealed").keyId } });
  expect(entry.keyId).toBe(entry.body.keyId);
  await make("after the loss", "96", other);
  const all = await entries();
  expect(await sequenceFaults(register.database.sql)).toEqual([]);

  const [old, fresh] = [keyOf("sealed"), keyOf("after the loss")];
  for (const otherKeys of ["refused", "passed over"] as const) {
    const behind = all.slice(all.findIndex(({ number }) => number === entry.number) - 1);
    const found = await verifySequence(behind, { publicKey: old, otherKeys });
    expect(found).toMatchObject({ whole: false, publicKey: old, entries: behind.slice(0, 1) });
    expect(found.why.join()).toMatch(/was lost, and names dep_\S+ by itself/);
  }
  expect((await run(["verify", "--log"])).stdout).toMatch(
    /^taken on faith: that dep_\S+ is the deployment's key: .* alone signed, .* was lost$/m,
  );
  const led = await verified(statement("after the loss"), old, all);
  expect(led.code).toBe(3);
  expect(led.stdout).not.toContain("the statement holds");
  expect(led.stdout.match(/not shown: entry \d+ says that the key dep_\S+ was lost/g)).toHaveLength(
    1,
  );
  expect(await verified(statement("after the loss"), fresh, all)).toMatchObject({ code: 0 });
  expect(await verified(statement("sealed"), fresh, all)).toMatchObject({ code: 0 });
  const kept = await file(all.slice(Number(entry.number)));
  const log = await run(["verify", "--log", "--head", kept, "--key", old]);
  expect(log.code).toBe(3);
  expect(log.stdout).toMatch(/not shown: entry \d+ says that the key dep_\S+ was lost/);
  expect(await run(["verify", "--log", "--head", kept, "--key", fresh])).toMatchObject({ code: 0 });

  // A signer that is destroyed.
  const third = await startSigner();
  await rotate({ ...third.settings, ...other });
  const before = { ...other, DEPLOYMENT_SIGNER_BEFORE_TOKEN: TOKEN };
  const gone = ["--lost", "--signer-before", third.url];
  expect((await run(["keys", "rotate", ...gone], before)).stderr).toContain("it is not lost");
  await third[Symbol.asyncDispose]();
  const again = await rotate(before, ...gone);
  expect(again.body.lost).toBe((await keyHistory(register.database)).keys[1]?.keyId);
  expect(await sequenceFaults(register.database.sql)).toEqual([]);
});

test("a holder of the database alone who declares a living key lost proves nothing to those who know it; the key's later signatures expose the lie", async () => {
  const all = await entries();
  const before = all.slice(0, numberOf("before") + 1);
  const last = before.at(-1);
  if (last === undefined) throw new Error("there are no entries");
  const row = sealedKey(masterKey);
  const thief = await openKey(row, masterKey);
  const { keyId, publicKey } = thief;
  const said = {
    number: `${BigInt(last.number) + 1n}`,
    previous: entryHash(last),
    kind: "key",
    body: { keyId, publicKey, lost: stolen.keyId },
    at: last.at,
  } as const;
  const claim = { ...said, keyId, signature: (await thief.sign(signedEntry(said))).signature };
  const known = { publicKey: keyOf("first") };
  expect(await verifySequence([...before, claim], known)).toMatchObject({
    entries: before,
    notShown: [claim],
    whole: false,
    publicKey: keyOf("first"),
  });
  const unsigned = { ...claim, signature: last.signature };
  await expect(verifySequence([...before, unsigned], known)).rejects.toThrow(/did not sign it/);
  const lives = await forged(claim, { kind: "act", body: { act: "1", sha256: "a".repeat(64) } });
  await expect(verifySequence([...before, claim, lives], known)).rejects.toThrow(/in whose place/);
});
