import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Statement, verifyStatement } from "../../client/verify-statement.ts";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { balancesOf } from "../../demo/model.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { publishedRootsOf } from "../../src/audit/sequence/published-roots.ts";
import { entriesAt, signedEntry, type UnsignedEntry } from "../../src/audit/sequence/sequence.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { publishedCheckpoints, publishOtherRoot } from "../audit/other-root.ts";
import { entriesOf } from "../audit/sequence-entries.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { runCommand } from "./run-command.ts";

let database: TestDatabase;
let folder: string;
/** The first coin after 300 checkpoints, and what each owner held of it. */
let coinType = "";
let balances: ReadonlyMap<string, bigint>;

beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), "holderbook-statement-"));
  const ledger = createDemoLedger({ seed: 3 });
  const following = await follow(database, ledger);
  const raws = Array.from({ length: 300 }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await following.append(raws);
  await following.project(1_000);
  [coinType = ""] = ledger.model.coins.keys();
  const held = [...balancesOf(ledger.model, coinType)].map(
    ([owner, { tokens, grants }]) => [owner, tokens + grants] as const,
  );
  balances = new Map(held.filter(([, balance]) => balance > 0n));
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

const masterKey = randomBytes(32).toString("base64");

const run = (...args: readonly string[]) =>
  runCommand(["statement", "--coin", coinType, ...args], {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey,
  });

const verify = (...args: readonly string[]) => runCommand(["statement", "verify", ...args], {});

/** The statement that a command prints. */
const made = async (...args: readonly string[]): Promise<Statement> => {
  const ran = await run(...args);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  return verifyStatement(JSON.parse(ran.stdout));
};

test("every owner's statement verifies, all lead to one root, and their total is the treasury's supply", async () => {
  const owners = [...balances.keys()].slice(0, 6);
  const statements: Statement[] = [];
  for (const owner of owners) statements.push(await made("--owner", owner, "--at", "299"));
  expect(owners.length).toBeGreaterThan(3);
  expect(new Set(statements.map(({ root }) => root)).size).toBe(1);
  const supply = [...balances.values()].reduce((sum, balance) => sum + balance, 0n).toString();
  for (const [index, statement] of statements.entries()) {
    const { row, total, totalSupply, checkpoint } = statement;
    expect([total, totalSupply, checkpoint]).toEqual([supply, supply, "299"]);
    const own = row.wallets.find(({ address }) => address === owners[index]);
    expect(own?.balance).toBe(balances.get(owners[index] ?? "")?.toString());
  }
  const withHolder = statements.find(({ row }) => row.holderId !== null);
  const same = await made("--holder", withHolder?.row.holderId ?? "", "--at", "299");
  expect(same).toEqual(withHolder);
});

test("a statement has version 2 unless version 1 is requested; both roots are published and lead to the same total", async () => {
  const [owner = ""] = balances.keys();
  const args = ["--owner", owner, "--at", "290"];
  const two = await made(...args);
  const one = await made(...args, "--statement-version", "1");
  expect([one.version, two.version]).toEqual([1, 2]);
  expect([one.total, one.row]).toEqual([two.total, two.row]);
  expect(one.root).not.toBe(two.root);
  expect(await made(...args)).toEqual(two);
  expect(await publishedRootsOf(database, { coinType, checkpoint: 290n, limit: 10 })).toMatchObject(
    [{ root: one.root, total: one.total }],
  );
  if (two.version !== 2) throw new Error("it is not of version 2");
  const { sql } = database;
  const mark = await checkpointMark(database.db, 290n);
  expect(two.checkpointTimestampMs).toBe(mark?.timestampMs.toString());
  const number = BigInt(two.entry.number);
  const entry = (await entriesAt({ sql }, [number])).get(number);
  expect(entry).toMatchObject({ ...two.entry, kind: "root", signature: two.rootSignature });
  const file = join(folder, "two.json");
  await writeFile(file, JSON.stringify(two));
  expect((await verify(file)).stdout).toMatch(/the root is entry \d+ of the deployment's sequence/);
  await writeFile(file, JSON.stringify(one));
  expect((await verify(file)).stdout).toMatch(/not part of a root of version 1: groups, freezes/);
  expect(await run(...args, "--statement-version", "3")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("It must be 1 or 2"),
  });
});

test("a file is checked without database or settings, against root and key, and the result says what that proves", async () => {
  const [owner = ""] = balances.keys();
  const file = join(folder, "statement.json");
  expect(await run("--owner", owner, "--out", file)).toEqual({ code: 0, stdout: "", stderr: "" });
  const text = await readFile(file, "utf8");
  const { root, publicKey } = verifyStatement(JSON.parse(text));
  const alone = await verify(file);
  expect(alone).toMatchObject({ code: 0, stderr: "" });
  expect(alone.stdout).toMatch(/the key in the file itself: this shows only/);
  expect(alone.stdout).toMatch(/^the statement is consistent, but its signer was not checked: /);
  expect(alone.stdout).toMatch(/not compared/);
  const both = await verify(file, "--root", root, "--key", publicKey);
  expect(both).toMatchObject({ code: 0, stderr: "" });
  expect(both.stdout).toMatch(/^the statement holds: .* has \d+\.\d{6} of \d+\.\d{6} 0x/);
  expect(both.stdout).toMatch(/its root is the given one\nit is signed with the given key/);

  const otherRoot = await verify(file, "--root", "0".repeat(64));
  expect(otherRoot).toMatchObject({ code: 1, stdout: "" });
  expect(otherRoot.stderr).toContain(`the root is ${root}, not the 000`);
  const otherKey = await verify(file, "--key", randomBytes(32).toString("base64"));
  expect(otherKey).toMatchObject({ code: 1, stdout: "" });
  expect(otherKey.stderr).toContain("it is signed with the key");

  const changed = join(folder, "changed.json");
  await writeFile(changed, text.replace(/"balance": "(\d+)"/, '"balance": "1$1"'));
  expect(await verify(changed)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("StatementError: the wallets' balances do not add up"),
  });
  await writeFile(changed, text.replace(/("balance": )"(\d+)"/, '$1"9$2",\n$1"$2"'));
  expect((await verify(changed)).stderr).toMatch(/StatementError: .* twice/);
  await writeFile(changed, text.slice(0, -10));
  expect((await verify(changed)).stderr).toContain("not JSON");
});

test("a statement is compared with kept entries of the sequence: another root is refused, and entries that do not cover it have their own exit code", async () => {
  const [owner = ""] = balances.keys();
  const args = ["--owner", owner, "--at", "260"];
  const [one, two] = [await made(...args, "--statement-version", "1"), await made(...args)];
  if (two.version !== 2) throw new Error("it is not of version 2");
  await made("--owner", owner, "--at", "261");
  const files = { 1: join(folder, "of-1.json"), 2: join(folder, "of-2.json") };
  await writeFile(files[1], JSON.stringify(one));
  await writeFile(files[2], JSON.stringify(two));
  const entries = await entriesOf(database.sql);
  const number = Number(two.entry.number);
  const keptFile = join(folder, "kept.ndjson");
  const kept = async (version: 1 | 2, ...some: readonly object[]) => {
    await writeFile(keptFile, some.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    return verify(files[version], "--entry", keptFile);
  };
  for (const version of [1, 2] as const) {
    const all = await kept(version, ...entries);
    expect(all).toMatchObject({ code: 0, stderr: "" });
    expect(all.stdout).toMatch(/entry \d+, which was kept, names the same root; it is dated 20/);
    const none = await kept(
      version,
      ...entries.filter(({ body }) => body.checkpoint !== "260").slice(0, 2),
    );
    expect(none.code).toBe(3);
    expect(none.stdout).toContain(
      `not shown: no entry that was kept names a root of version ${version} of`,
    );
  }
  // The entry behind has its hash.
  const behind = await kept(2, ...entries.slice(number + 1));
  expect(behind).toMatchObject({ code: 0, stderr: "" });
  expect(behind.stdout).toContain(
    `entry ${number + 1}, which was kept, has the hash of entry ${number}`,
  );

  // By one who can sign.
  const key = await openDeploymentKey(database, Buffer.from(masterKey, "base64"));
  const signedBy = async (by: Pick<typeof key, "sign">, entry: UnsignedEntry) => {
    const { keyId, signature } = await by.sign(signedEntry(entry));
    return { ...entry, keyId, signature };
  };
  const entryAt = (at: number) => {
    const found = entries[at];
    if (found === undefined) throw new Error(`there is no entry ${at}`);
    const { number, previous, kind, body, at: dated } = found;
    return { number, previous, kind, body, at: dated };
  };
  const of1 = entries.findIndex(({ body }) => body.version === "1" && body.checkpoint === "260");
  for (const [version, at] of [
    [1, of1],
    [2, number],
  ] as const) {
    const said = { ...entryAt(at), body: { ...entryAt(at).body, root: "ab".repeat(32) } };
    const other = await kept(version, await signedBy(key, said));
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toMatch(
      /StatementError: entry \d+, which was kept, says .* the root abab/,
    );
  }
  const dated = await kept(
    2,
    await signedBy(key, { ...entryAt(number), at: "2020-01-01T00:00:00.000Z" }),
  );
  expect(dated).toMatchObject({ code: 1, stdout: "" });
  expect(dated.stderr).toContain(`entry ${number} is another one than the statement names`);
  const unlinked = await signedBy(key, { ...entryAt(number + 1), previous: "ab".repeat(32) });
  expect((await kept(2, unlinked)).stderr).toContain(
    `entry ${number + 1} does not have the hash of the one before`,
  );
  const edited = await kept(2, { ...entries[number], at: "2020-01-01T00:00:00.000Z" });
  expect(edited).toMatchObject({ code: 1, stderr: expect.stringContaining("is not signed with") });
  // Of another deployment, or of a key from before.
  await using elsewhere = await freshDatabase();
  const foreign = await openDeploymentKey(elsewhere, randomBytes(32));
  const unknown = await kept(2, await signedBy(foreign, entryAt(number)));
  expect([unknown.code, unknown.stdout]).toEqual([3, expect.stringContaining(foreign.keyId)]);
  expect(await kept(2, { heads: [] })).toMatchObject({ code: 2 });
});

test("an owner without a row gets that answer, and unusable arguments are refused", async () => {
  const nobody = `0x${"e".repeat(64)}`;
  expect(await run("--owner", nobody, "--at", "299")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(`the wallet ${nobody} held nothing of ${coinType}`),
  });
  expect(await run("--holder", "987654321")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the holder 987654321 held nothing"),
  });
  for (const [args, message] of [
    [[], "--owner or --holder"],
    [["--owner", nobody, "--holder", "1"], "--owner or --holder"],
    [["--owner", "0xyz"], "not an address"],
  ] as const) {
    expect(await run(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  }
});

test("where another root was signed for the checkpoint before, none is signed and both are named", async () => {
  const [owner = ""] = balances.keys();
  const { root } = await made("--owner", owner, "--at", "250");
  await publishOtherRoot(database, { coinType, checkpoint: 200n });
  const ran = await run("--owner", owner, "--at", "200");
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(
    /RootConflictError: .* at checkpoint 200 was signed before with root 00/,
  );
  expect(await made("--owner", owner, "--at", "250")).toMatchObject({ root });
});

test("rows that do not add up to the treasury's supply are not signed, and their root is not published", async () => {
  const [owner = ""] = balances.keys();
  const { sql } = database;
  const raise = (by: number) => sql`
    update token_changes set balance_after = balance_after + ${by}
    where coin_type = ${coinType} and owner = ${owner}`;
  await raise(1);
  const ran = await run("--owner", owner, "--at", "280");
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(/SupplyMismatchError: .* at checkpoint 280 add up to/);
  expect(await publishedCheckpoints(database)).not.toContain(280n);
  await raise(-1);
  expect(await made("--owner", owner, "--at", "280")).toMatchObject({ checkpoint: "280" });
});
