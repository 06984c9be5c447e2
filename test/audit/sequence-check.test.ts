/** The sequence held against itself and against what was signed beside it, under the hands of one who can write tables. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifySequence } from "../../client/verify-sequence.ts";
import { signedRoot } from "../../client/verify-statement.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { signHead } from "../../src/audit/sequence/log-heads.ts";
import { enterRoots, publishRoot, rootFault } from "../../src/audit/sequence/published-roots.ts";
import {
  appendEntry,
  entriesAfter,
  entryHash,
  signedEntry,
  watchSequence,
} from "../../src/audit/sequence/sequence.ts";
import type { Sql } from "../../src/database/connect.ts";
import { extendChain } from "../../src/log/chain.ts";
import { openLog } from "../../src/log/log.ts";
import { batch, fact, PACKAGE } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { sequenceFaults } from "./sequence-entries.ts";

let database: TestDatabase;
let key: DeploymentKey;

const coinType = `0x${"5".padStart(64, "0")}::acme::ACME`;
const rootAt = (checkpoint: string) => ({
  chainId: "chain-a",
  coinType,
  checkpoint,
  checkpointDigest: `digest ${checkpoint}`,
  root: "ab".repeat(32),
  total: "1000",
});

/** As versions did that had no sequence. */
const publishBeside = async (sql: Sql, made: ReturnType<typeof rootAt>) => {
  const { signature, keyId } = await key.sign(signedRoot(made));
  await sql`
    insert into published_roots
      (coin_type, checkpoint, checkpoint_digest, root, total, signature, key_id)
    values (${coinType}, ${made.checkpoint}, ${made.checkpointDigest}, ${made.root}, ${made.total},
            ${signature}, ${keyId})`;
};

beforeAll(async () => {
  database = await freshDatabase();
  const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };
  const log = await openLog(database, identity);
  key = await openDeploymentKey(database, randomBytes(32));
  // Before there is a sequence.
  for (const checkpoint of ["1", "2"]) await publishBeside(database.sql, rootAt(checkpoint));
  for (const first of [0n, 4n, 8n]) {
    await log.append(batch(first, first + 3n, [fact(first), fact(first + 2n)]), []);
    await database.transaction(({ sql }) => extendChain(sql));
    await database.transaction(({ sql }) => signHead(sql, key));
  }
  await database.transaction(({ sql }) => publishRoot(sql, key, rootAt("3")));
});
afterAll(() => database.close());

const UNDONE = new Error("rolled back");

/** What is found after a change behind the triggers, which is taken back again. */
const foundAfter = async (
  change: (sql: Sql) => PromiseLike<unknown>,
): Promise<readonly string[]> => {
  let found: readonly string[] = [];
  const changed = database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await change(sql);
    const faults = await sequenceFaults(sql);
    found = faults.map(({ what }) => what);
    throw UNDONE;
  });
  await expect(changed).rejects.toBe(UNDONE);
  return found;
};

test("a signed entry with a checkpoint that is not a number is named, and is no database failure", async () => {
  for (const checkpoint of ["x", "", `${10n ** 30n}`]) {
    const found = await foundAfter((sql) =>
      appendEntry(sql, key, "root", { ...rootAt("3"), checkpoint }),
    );
    expect(found).toEqual([expect.stringContaining("a checkpoint that is no number")]);
  }
});

test("an untouched sequence verifies, with the roots signed before it existed", async () => {
  const [entries] = await database.sql<{ kinds: string }[]>`
    select string_agg(kind, ' ' order by number) as kinds from log_sequence`;
  expect(entries?.kinds).toMatch(/^key head head head/);
  expect(await foundAfter(async () => {})).toEqual([]);
  // As one who kept them checks them.
  const kept = await entriesAfter({ sql: database.sql }, -1n, 100);
  const lines = kept.map((entry) => JSON.stringify(entry)).join("\n");
  const verified = await verifySequence(lines, { publicKey: key.publicKey });
  expect(verified).toMatchObject({ whole: true, publicKey: key.publicKey });
});

test.each([
  [
    "a root of before that is deleted",
    "delete from published_roots where checkpoint = 1",
    /published_roots has 1 rows that are no entries of the sequence, and entry 0 commits to 2: one was deleted/,
  ],
  [
    "a root of before that is exchanged",
    "update published_roots set root = repeat('0', 64), signed_at = now() where checkpoint = 2",
    /published_roots has 2 rows that are no entries .* exchanged/,
  ],
  [
    "a root that is deleted",
    "delete from published_roots where checkpoint = 3",
    /entry \d+ of the sequence \(root\) has no row in published_roots/,
  ],
  [
    "a root that is changed",
    "update published_roots set total = '999' where checkpoint = 3",
    /entry \d+ of the sequence \(root\) has no row in published_roots: it was deleted or changed/,
  ],
  [
    "a root that is added, though it is dated before all others",
    `insert into published_roots
     select coin_type, 4, checkpoint_digest, root, total, signature, key_id, '2020-01-01' from published_roots limit 1`,
    /published_roots has 3 rows that are no entries .* added/,
  ],
  [
    "a head that is deleted",
    "delete from log_heads where checkpoint = 6",
    /entry 2 of the sequence \(head\) has no row/,
  ],
  [
    "a head that is changed",
    "update log_heads set hash = sha256('x') where checkpoint = 6",
    /has no row in log_heads/,
  ],
  [
    "a head that is added",
    "insert into log_heads select 5, sha256('x'), signature, key_id from log_heads limit 1",
    /log_heads has 1 rows that are no entries .* commits to 0: one was added/,
  ],
  [
    "an entry that is dated back",
    "update log_sequence set at = '2020-01-01T00:00:00.000Z' where number = 3",
    /entry 3 .* signature/,
  ],
  [
    "an entry in the middle that is changed",
    "update log_sequence set body = replace(body, 'chain-a', 'chain-b') where number = 1",
    /entry 1 .* signature/,
  ],
  [
    "an entry in the middle that is deleted",
    "delete from log_sequence where number = 2",
    /entry 3 .*comes where number 2 should/,
  ],
  [
    "an end that is deleted",
    "delete from log_sequence where number >= 3",
    /ends with number 2, but log_sequence_head says/,
  ],
  [
    "a public key that is exchanged",
    "update deployment_keys set public_key = encode(sha256('x'), 'base64')",
    /whose public key was changed/,
  ],
])("%s is found", async (_, change, found) => {
  expect((await foundAfter((sql) => sql.unsafe(change))).join("\n")).toMatch(found);
});

test("a head that is deleted and signed again over a changed log is detected", async () => {
  const found = await foundAfter(async (sql) => {
    await sql`update log_chain set hash = sha256('anew') where checkpoint = 10`;
    await sql`delete from log_heads where checkpoint = 10`;
    const body = { chainId: "chain-a", checkpoint: "10", hash: "cd".repeat(32) };
    await appendEntry(sql, key, "head", body);
    await sql`
      insert into log_heads (checkpoint, hash, signature, key_id)
      select 10, decode(${body.hash}, 'hex'), signature, key_id from log_heads limit 1`;
  });
  expect(found.join("\n")).toMatch(
    /entries 3 and \d+ of the sequence \(head\) say different things/,
  );
});

/** The last entry with another time, signed anew by one who can, so that hash and signature fit. */
const redateLast = async (sql: Sql, at: string) => {
  const last = (await entriesAfter({ sql }, -1n, 100)).at(-1);
  if (last === undefined) throw new Error("there are no entries");
  const anew = { ...last, at };
  const { signature } = await key.sign(signedEntry(anew));
  await sql`
    update log_sequence set at = ${at}, signature = ${signature}, hash = ${entryHash(anew)}
    where number = ${last.number}`;
  await sql`update log_sequence_head set hash = ${entryHash(anew)}`;
};

test("an entry dated before its predecessor is detected, even with a valid signature", async () => {
  const found = await foundAfter((sql) => redateLast(sql, "2020-01-01T00:00:00.000Z"));
  expect(found.join("\n")).toMatch(
    /entry \d+ .* is dated 2020-01-01T00:00:00.000Z, before the one/,
  );
});

test("a clock that was set back dates no entry before its predecessor", async () => {
  const future = "2999-01-01T00:00:00.000Z";
  const found = await foundAfter(async (sql) => {
    await redateLast(sql, future);
    const { at } = await appendEntry(sql, key, "correction", { of: "nothing" });
    expect(at).toBe(future);
  });
  expect(found).toEqual([]);
});

test("a root signed outside the sequence by an older version becomes an entry", async () => {
  const found = await foundAfter(async (sql) => {
    await publishBeside(sql, rootAt("5"));
    const other = { ...rootAt("6"), root: "cd".repeat(32) };
    await publishBeside(sql, other);
    await sql`update published_roots set total = '999' where checkpoint = 6`;
    for (const _ of [1, 2]) await enterRoots(sql, key);
    const entered = await sql`select body from log_sequence order by number desc limit 2`;
    expect(entered[0]?.body).toContain('"checkpoint":"5"');
    expect(entered[1]?.body).not.toContain('"checkpoint":"5"');
  });
  // Nothing was signed of the one that its key did not sign.
  expect(found).toEqual([expect.stringMatching(/published_roots has 3 rows .* added/)]);
});

test("a root signed in place of another is detected", async () => {
  const found = await foundAfter(async (sql) => {
    const body = { version: "2", chainId: "chain-a", coinType, checkpoint: "9", total: "1000" };
    await appendEntry(sql, key, "root", { ...body, root: "ab".repeat(32) });
    await appendEntry(sql, key, "root", { ...body, root: "cd".repeat(32) });
  });
  expect(found.join("\n")).toMatch(/of the sequence \(root\) say different things/);
});

test("a changed root of version 1 is detected by its signature", async () => {
  const { signal } = new AbortController();
  expect(await rootFault(database.sql, signal)).toBeNull();
  let fault: Awaited<ReturnType<typeof rootFault>> = null;
  await foundAfter(async (sql) => {
    await sql`update published_roots set total = '999' where checkpoint = 3`;
    fault = await rootFault(sql, signal);
  });
  expect(fault).toMatchObject({ checkpoint: 3n, what: expect.stringContaining("was changed") });
});

test("nothing is appended to a sequence whose end was lost in a fail-over, and a rolled-back entry never counts", async () => {
  const act = (sql: Sql, what: string) =>
    appendEntry(sql, key, "correction", { of: "nothing", what });
  const append = (what: string) => database.transaction(({ sql }) => act(sql, what));
  await foundAfter(async (sql) => {
    for (const what of ["a", "b"]) await act(sql, what);
  });
  const { number } = await append("c");
  await watchSequence(database.sql, key);
  await database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`delete from log_sequence where number >= ${number}`;
    await sql`
      update log_sequence_head set next = ${number},
        hash = (select hash from log_sequence order by number desc limit 1)`;
  });
  const lost = `entry ${number} of the sequence was published, and is no longer in log_sequence`;
  await expect(watchSequence(database.sql, key)).rejects.toThrow(lost);
  await expect(append("d")).rejects.toThrow(lost);
  expect(await foundAfter(async () => {})).toEqual([]);
});
