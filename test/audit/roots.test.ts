import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson } from "../../client/canonical-json.ts";
import { publicKeyOf, verifyBytes } from "../../client/ed25519.ts";
import { isSignatureOf } from "../../client/sum-tree.ts";
import { isLogHeadSigned } from "../../client/verify-log-head.ts";
import {
  type Root2,
  rootBody,
  signedRoot,
  signedRootEntry,
} from "../../client/verify-statement.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import {
  publishedRootsOf,
  publishRoot,
  publishRoot2,
  type Root,
  RootConflictError,
  type RootQuota,
} from "../../src/audit/sequence/published-roots.ts";
import { entriesAt, SequenceLostError } from "../../src/audit/sequence/sequence.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { openLog } from "../../src/log/log.ts";
import {
  deploymentKeysAnswer,
  logHeadsAnswer,
  rootsAnswer,
  sequenceAnswer,
} from "../../src/page-api/answers.ts";
import { rootsPart } from "../../src/page-api/roots-part.ts";
import { base58 } from "../../src/values/base58.ts";
import { misfits } from "../docs/published-schemas.ts";
import { serve } from "../http/service.ts";
import { alterLog } from "../log/damage.ts";
import { batch, fact } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const coinType = `0x${"5".padStart(64, "0")}::acme::ACME`;

const rootAt = (checkpoint: number) => ({
  chainId: "test-chain",
  coinType,
  checkpoint: `${checkpoint}`,
  checkpointDigest: base58(createHash("sha256").update(`${checkpoint}`).digest()),
  root: checkpoint.toString(16).padStart(64, "0"),
  total: "1000",
});

const publish = (on: TestDatabase, by: DeploymentKey, made: Root, quota?: RootQuota) =>
  on.transaction(({ sql }) => publishRoot(sql, by, made, quota));
const publish2 = (on: TestDatabase, by: DeploymentKey, made: Root2) =>
  on.transaction(({ sql }) => publishRoot2(sql, by, made));

const CHECKPOINTS = [9, 1_000, 70, 8];

const QUOTA = 40;

let database: TestDatabase;
let key: DeploymentKey;
let service: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  database = await freshDatabase();
  await openLog(database, { chainId: "test-chain", packages: ["0x5"], firstCheckpoint: 0n });
  key = await openDeploymentKey(database, randomBytes(32));
  for (const checkpoint of CHECKPOINTS) await publish(database, key, rootAt(checkpoint));
  const limit = createRateLimit({ policy: "default", quota: QUOTA, windowSeconds: 60 });
  service = await serve({ parts: [rootsPart({ db: database.db, limit })] });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database.close();
});

const get = async (path: string) => {
  const answer = await fetch(service.url + path);
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
};

const roots = async (query: Readonly<Record<string, string>>) =>
  rootsAnswer
    .strict()
    .parse((await get(`/roots?${new URLSearchParams({ coinType, ...query })}`)).body);

test("roots of version 2 are listed separately, each as the entry of the sequence that published it, and never change", async () => {
  const root2At = (checkpoint: number) => ({
    ...rootAt(checkpoint),
    decimals: 6,
    checkpointTimestampMs: "1700000000123",
  });
  for (const checkpoint of [9, 70]) await publish2(database, key, root2At(checkpoint));
  const roots2 = (query: Readonly<Record<string, string>>) => roots({ version: "2", ...query });
  const all = await roots2({});
  expect(all).toMatchObject({ roots: [root2At(70), root2At(9)].map(rootBody), next: null });
  for (const { number, previous = "", signedAt: at, signature, ...root } of all.roots) {
    const signed = signedRootEntry({
      ...root2At(Number(root.checkpoint)),
      entry: { number: number ?? "", previous, at },
    });
    expect(isSignatureOf(signature, canonicalJson(signed), key.publicKey)).toBe(true);
  }
  expect(all.roots.flatMap((root) => misfits("root", root))).toEqual([]);
  const first = await roots2({ limit: "1" });
  expect(first).toEqual({ roots: [all.roots[0]], next: "70" });
  expect(await roots2({ limit: "1", after: "70" })).toEqual({ roots: [all.roots[1]], next: "9" });
  expect(await roots2({ checkpoint: "9" })).toMatchObject({ roots: [all.roots[1]] });
  expect((await get(`/roots?coinType=${coinType}&version=3`)).status).toBe(400);

  const again = await publish2(database, key, root2At(9));
  expect(again).toMatchObject({ number: all.roots[1]?.number, at: all.roots[1]?.signedAt });
  for (const changed of [{ root: "0".repeat(64) }, { decimals: 7 }, { total: "999" }]) {
    await expect(publish2(database, key, { ...root2At(9), ...changed })).rejects.toThrow(
      RootConflictError,
    );
  }
});

test("anybody can read the sequence page by page: each entry is signed, numbered and chained to the one before; the first commits to earlier signatures", async () => {
  for (const checkpoint of [300, 301]) {
    const two = { ...rootAt(checkpoint), decimals: null, checkpointTimestampMs: "1" };
    await publish2(database, key, two);
  }
  const page = async (query: string) =>
    sequenceAnswer.strict().parse((await get(`/sequence?limit=2${query}`)).body);
  const entries = [];
  for (let next: string | null = ""; next !== null; ) {
    const found = await page(next === "" ? "" : `&after=${next}`);
    entries.push(...found.entries);
    next = found.next;
  }
  expect(entries.length).toBeGreaterThanOrEqual(3);
  expect(entries.flatMap((entry) => misfits("sequence-entry", entry))).toEqual([]);
  let previous = "0".repeat(64);
  for (const [at, { signature, keyId, ...entry }] of entries.entries()) {
    expect(entry).toMatchObject({ number: `${at}`, previous });
    const text = (members: object) => canonicalJson(JSON.parse(JSON.stringify(members)));
    const signed = text({ ...entry, purpose: "holderbook-sequence-v1" });
    expect([keyId, isSignatureOf(signature, signed, key.publicKey)]).toEqual([key.keyId, true]);
    previous = createHash("sha256").update(text(entry)).digest("hex");
  }
  expect(entries[0]).toMatchObject({
    kind: "key",
    body: {
      keyId: key.keyId,
      publicKey: key.publicKey,
      chainId: "test-chain",
      roots: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      heads: { count: "0", sha256: createHash("sha256").digest("hex") },
    },
  });
});

test("an entry that was seen committed and is now missing stops all signing", async () => {
  await using other = await freshDatabase();
  await openLog(other, { chainId: "test-chain", packages: ["0x5"], firstCheckpoint: 0n });
  const signer = await openDeploymentKey(other, randomBytes(32));
  const publishAt = (checkpoint: number) =>
    publish2(other, signer, {
      ...rootAt(checkpoint),
      decimals: 6,
      checkpointTimestampMs: "1",
    });
  for (const checkpoint of [1, 2, 3]) await publishAt(checkpoint);
  await other.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`delete from log_sequence where number >= 2`;
    await sql`delete from coin_entries where number >= 2`;
    await sql`update log_sequence_head set next = 2, hash = ${"0".repeat(64)}`;
  });
  await expect(publishAt(4)).rejects.toThrow(SequenceLostError);
});

test("anybody can read a token's roots, newest first and page by page, and check their signatures", async () => {
  const all = await roots({});
  expect(all.roots.map(({ checkpoint }) => checkpoint)).toEqual(["1000", "70", "9", "8"]);
  expect(all.roots.flatMap((root) => misfits("root", root))).toEqual([]);
  expect(all.next).toBeNull();
  const { keys } = deploymentKeysAnswer.strict().parse((await get("/deployment-keys")).body);
  expect(keys).toMatchObject([{ keyId: key.keyId, publicKey: key.publicKey }]);
  for (const { keyId, signature, signedAt: _, number: __, corrections, ...root } of all.roots) {
    expect(corrections).toEqual([]);
    expect(root).toEqual(rootAt(Number(root.checkpoint)));
    const { publicKey = "" } = keys.find((each) => each.keyId === keyId) ?? {};
    const signed = Buffer.from(canonicalJson(signedRoot({ ...root, chainId: root.chainId ?? "" })));
    expect(verifyBytes(signed, Buffer.from(signature, "base64"), publicKeyOf(publicKey))).toBe(
      true,
    );
  }

  const paged: string[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const page = await roots({ limit: "1", ...(after === "" ? {} : { after }) });
    paged.push(...page.roots.map(({ checkpoint }) => checkpoint));
    after = page.next;
  }
  expect(paged).toEqual(["1000", "70", "9", "8"]);
  expect((await roots({ checkpoint: "9" })).roots).toEqual([all.roots[2]]);
  expect((await roots({ coinType: "0x5::ACME::acme" })).roots).toEqual([]);
  expect((await roots({ coinType: "0x5::acme::ACME" })).roots).toEqual(all.roots);
});

test("a root is published once, whoever requests it again", async () => {
  const again = await publish(database, key, rootAt(9));
  const [published] = (await roots({ checkpoint: "9" })).roots;
  expect(published?.signature).toBe(again.signature);
  const other = () => publish(database, key, { ...rootAt(9), total: "999" });
  const refused = /at checkpoint 9 was signed before with root 0+9, total 1000.*total 999/;
  await expect(other()).rejects.toThrow(refused);
  // Who deletes the row has not taken back what was said.
  await database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`delete from published_roots where checkpoint = 9`;
  });
  await expect(other()).rejects.toThrow(refused);
  await publish(database, key, rootAt(9));
  const [anew] = (await roots({ checkpoint: "9" })).roots;
  expect(anew).toEqual({ ...published, signedAt: anew?.signedAt });
});

test("a root of version 1 is an entry of the sequence and carries its number; requesting it again appends nothing", async () => {
  const [published] = (await roots({ checkpoint: "70" })).roots;
  const number = BigInt(published?.number ?? -1);
  const entry = (await entriesAt(database.db, [number])).get(number);
  expect(entry).toMatchObject({ kind: "root", body: { version: "1", ...rootAt(70) } });
  const end = async () => (await database.sql`select next from log_sequence_head`)[0];
  const before = await end();
  await publish(database, key, rootAt(70));
  expect(await end()).toEqual(before);
});

test("a root of version 1 shows the time of its entry, whatever its row says", async () => {
  const asked = { coinType, checkpoint: 70n, limit: 1 };
  const [before] = await publishedRootsOf(database, asked);
  const [entry] = [...(await entriesAt(database, [BigInt(before?.number ?? 0)])).values()];
  await alterLog(database, "update published_roots set signed_at = '2020-01-01'");
  const [root] = await publishedRootsOf(database, asked);
  expect(root?.signedAt).toBe(entry?.at);
});

test("ten concurrent requests for the same new root append one entry", async () => {
  await Promise.all(Array.from({ length: 10 }, () => publish(database, key, rootAt(500))));
  const entries = await database.sql`
    select from log_sequence where body::jsonb ->> 'checkpoint' = '500'`;
  expect(entries).toHaveLength(1);
});

test("a key's daily number of roots holds for concurrent requests too, and resets the next day", async () => {
  await using other = await freshDatabase();
  const signer = await openDeploymentKey(other, randomBytes(32));
  const quota = { askedBy: "key_1", perDay: 3 };
  const publishAt = (checkpoint: number) => publish(other, signer, rootAt(checkpoint), quota);
  const asked = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => publishAt(i)));
  const refused = asked.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(9);
  for (const one of refused) expect(one).toMatchObject({ reason: { name: "RootsOfDayError" } });
  const stored = () => publishedRootsOf(other, { coinType, limit: 100 });
  expect(await stored()).toHaveLength(3);

  await other.sql`update root_counts set day = day - 1`;
  await publishAt(100);
  expect(await stored()).toHaveLength(4);
  expect(await other.sql`select roots from root_counts`).toEqual([{ roots: 1 }]);
  const none = publish(other, signer, rootAt(101), { askedBy: "key_2", perDay: 0 });
  await expect(none).rejects.toThrow("nothing was signed");
});

test("anybody can read the log's signed heads page by page and check them", async () => {
  const log = await openLog(database, {
    chainId: "test-chain",
    packages: ["0x5"],
    firstCheckpoint: 0n,
  });
  for (const first of [0n, 4n, 8n]) {
    await log.append(batch(first, first + 3n, [fact(first), fact(first + 2n)]), []);
    await signHead(database.sql, key);
  }
  const read = async (query: string) =>
    logHeadsAnswer.strict().parse((await get(`/log-heads${query}`)).body);
  const { chainId, heads, next } = await read("");
  expect([heads.map(({ checkpoint }) => checkpoint), next]).toEqual([["10", "6", "2"], null]);
  expect(heads.flatMap((head) => misfits("log-head", head))).toEqual([]);
  for (const { checkpoint, hash, signature, keyId } of heads) {
    expect(keyId).toBe(key.keyId);
    const said = { purpose: "holderbook-log-head-v1", chainId, checkpoint, hash };
    const [signed, bytes] = [Buffer.from(canonicalJson(said)), Buffer.from(signature, "base64")];
    expect(verifyBytes(signed, bytes, publicKeyOf(key.publicKey))).toBe(true);
    // As those who keep heads check them.
    const { publicKey } = key;
    const head = { checkpoint, hash, signature };
    expect(isLogHeadSigned(head, { chainId, publicKey })).toBe(true);
    expect(isLogHeadSigned({ ...head, checkpoint: "3" }, { chainId, publicKey })).toBe(false);
    expect(isLogHeadSigned({ ...head, signature: "" }, { chainId, publicKey })).toBe(false);
  }
  const paged = await read("?limit=1&after=10");
  expect(paged).toMatchObject({ heads: [{ checkpoint: "6" }], next: "6" });
  expect((await get("/log-heads?after=x")).status).toBe(400);
});

test("malformed queries for roots are refused, and so are too many of them", async () => {
  for (const [query, details] of [
    ["", "coinType: "],
    ["?coinType=acme", "coinType: is not a"],
    [`?coinType=${coinType}&checkpoint=-1`, "checkpoint: must be a checkpoint number"],
    [`?coinType=${coinType}&limit=0`, "limit: must be a whole number from 1 to 1000"],
    [`?coinType=${coinType}&owner=1`, "owner: no such parameter; there are coinType"],
  ] as const) {
    const { status, body } = await get(`/roots${query}`);
    expect({ query, status }).toEqual({ query, status: 400 });
    expect(body).toMatchObject({ details: expect.stringContaining(details) });
  }
  expect((await fetch(`${service.url}/roots`, { method: "POST" })).status).toBe(405);
  const statuses: number[] = [];
  for (let asked = 0; asked < QUOTA; asked += 1)
    statuses.push((await get("/deployment-keys")).status);
  expect(statuses.at(0)).toBe(200);
  expect(statuses.at(-1)).toBe(429);
});
