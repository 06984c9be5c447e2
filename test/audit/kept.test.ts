/** `verify --log --head FILE`: who signed what an auditor kept, and what of it says something of the log as it is. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKeyPair } from "../../client/ed25519.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signedHeads, signHead } from "../../src/audit/sequence/log-heads.ts";
import { chainIdOf, correctLog } from "../../src/audit/sequence/sequence.ts";
import { connect, type Database } from "../../src/database/connect.ts";
import { openLog } from "../../src/log/log.ts";
import { exchangeLogs, prepareSecondLog, secondLogSettings } from "../../src/log/second-log.ts";
import { runCommand } from "../commands/run-command.ts";
import { batch, fact, PACKAGE } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { entriesOf } from "./sequence-entries.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let key: DeploymentKey;
let heads: string;
let entries: string;

/** @param bytes of each fact */
const append = async (to: Database, first: bigint, last: bigint, bytes = 40) => {
  const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };
  const log = await openLog(to, identity);
  const numbers = Array.from({ length: Number(last - first) + 1 }, (_, i) => first + BigInt(i));
  const facts = numbers.map((checkpoint) => fact(checkpoint, 0, { bytes }));
  await log.append(batch(first, last, facts), []);
};

const sign = () => database.transaction(({ sql }) => signHead(sql, key));

/** A file of what was kept. */
const file = async (name: string, kept: unknown) => {
  const path = join(folder.path, name);
  await writeFile(path, JSON.stringify(kept));
  return path;
};

beforeAll(async () => {
  [folder, database] = await Promise.all([temporaryFolder(), freshDatabase()]);
  key = await openDeploymentKey(database, randomBytes(32));
  for (const [first, last] of [
    [0n, 5n],
    [6n, 9n],
  ] as const) {
    await append(database, first, last);
    await sign();
  }
  const page = (await signedHeads(database.sql, 10)).map(({ publicKey: _, ...head }) => ({
    ...head,
    checkpoint: `${head.checkpoint}`,
  }));
  heads = await file("heads.json", { chainId: await chainIdOf(database.sql), heads: page });
  entries = await file("entries.json", { entries: await entriesOf(database.sql) });
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const verify = (...args: readonly string[]) =>
  runCommand(["verify", "--log", ...args], { DATABASE_URL: database.url, VERIFY: "links" });

test("signatures of kept files are verified with the given key, or with the database's, which is reported as taken on faith", async () => {
  const given = await verify("--head", heads, entries, "--key", key.publicKey);
  expect(given, given.stdout).toMatchObject({ code: 0 });
  expect(given.stdout).toContain("all 5 kept heads and entries match\n");
  expect(given.stdout).toContain("5 of the kept ones are signed with the given key\n");
  expect(given.stdout).not.toContain("is a key of the deployment");
  const named = await verify("--head", heads, entries);
  expect(named, named.stdout).toMatchObject({ code: 0 });
  expect(named.stdout).toContain(
    `taken on faith: that ${key.keyId}, which signed 5 of the kept ones, is a key of the deployment, as deployment_keys says (--key shows it)\n`,
  );
  const alone = await verify();
  expect(alone.stdout).toContain(`taken on faith: that ${key.keyId} is a key of the deployment`);
  expect(await verify("--key", key.publicKey)).toMatchObject({ code: 0 });
});

test("a kept head or entry signed by somebody else is no evidence, and a key other than the deployment's is a finding", async () => {
  const signature = Buffer.alloc(64, 7).toString("base64");
  const [first] = await signedHeads(database.sql, 1);
  const forged = [
    { ...first, checkpoint: `${first?.checkpoint}`, signature },
    { ...(await entriesOf(database.sql))[1], signature },
  ];
  for (const one of forged) {
    const path = await file("forged.json", one);
    for (const args of [[], ["--key", key.publicKey]]) {
      const { code, stdout } = await verify("--head", path, ...args);
      expect({ code, args }, stdout).toEqual({ code: 1, args });
      expect(stdout).toMatch(/forged\.json, number 1 \(.*\): .*is not signed with the key/);
    }
  }
  const other = await verify("--key", generateKeyPair().publicKey);
  expect(other).toMatchObject({ code: 1 });
  expect(other.stdout).toContain("deployment_keys does not have the key given");
  expect(await verify("--key", "AAAA")).toMatchObject({ code: 2 });
});

test("a kept head without its signature is compared, but its signer stays unknown", async () => {
  const [first] = await signedHeads(database.sql, 1);
  const path = await file("bare.json", { checkpoint: `${first?.checkpoint}`, hash: first?.hash });
  const believed = await verify("--head", path);
  expect(believed, believed.stdout).toMatchObject({ code: 0 });
  expect(believed.stdout).toContain("taken on faith: who signed 1 of the kept ones");
  const asked = await verify("--head", path, "--key", key.publicKey);
  expect(asked, asked.stdout).toMatchObject({ code: 3 });
  expect(asked.stdout).toContain(
    "not shown: who signed 1 of the kept ones: the file does not have the signature\n",
  );
});

// The last one: the log is another one afterwards.
test("files kept from a log that was since rebuilt neither contradict nor prove anything: exit code 3", async () => {
  const added = `0x${"ad".repeat(32)}`;
  await database.transaction((tx) => prepareSecondLog(tx, { address: added, from: 0n }));
  {
    await using second = connect({
      url: database.url,
      max: 2,
      applicationName: "test second log",
      runtime: await secondLogSettings(database.sql),
    });
    await append(second, 0n, 9n, 41);
  }
  await database.transaction(async (tx) => {
    await exchangeLogs(tx);
    await correctLog(tx.sql, key, { why: "read anew", through: 9n });
  });
  await append(database, 10n, 12n);
  await sign();
  for (const [path, name] of [
    [heads, "heads.json, number 1 (head)"],
    [entries, "entries.json, number 2 (entry 1)"],
  ] as const) {
    const { code, stdout } = await verify("--head", path, "--key", key.publicKey);
    expect({ code, path }, stdout).toEqual({ code: 3, path });
    expect(stdout).toMatch(/^not shown: /m);
    expect(stdout).toContain(`${name} is about the log that entry 3 of the sequence says was`);
    const json = JSON.parse((await verify("--head", path, "--json")).stdout);
    expect(json).toMatchObject({
      holds: true,
      keptNotShown: [expect.anything(), expect.anything()],
    });
  }
  // What was signed since is held against the log as it is.
  const since = await file("since.json", (await entriesOf(database.sql)).slice(-1));
  expect(await verify("--head", since, "--key", key.publicKey)).toMatchObject({ code: 0 });
  const changed = await file("changed.json", { checkpoint: "12", hash: "ab".repeat(32) });
  expect(await verify("--head", changed)).toMatchObject({ code: 1 });
});
