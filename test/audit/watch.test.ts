// @module-tag thorough
/** The watch over the log, as a process that indexes runs it. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { signedRoot } from "../../client/verify-statement.ts";
import { recordAct } from "../../src/audit/sequence/acts.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { headFault, signedHeads, signHead } from "../../src/audit/sequence/log-heads.ts";
import { correctLog } from "../../src/audit/sequence/sequence.ts";
import { logCheck } from "../../src/audit/watch/log-check.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { watchOver } from "../../src/audit/watch/watch.ts";
import type { Database } from "../../src/database/connect.ts";
import { completeChains, extendChain, LogChangedError } from "../../src/log/chain.ts";
import { checkStretch } from "../../src/log/check-chain.ts";
import { openLog } from "../../src/log/log.ts";
import { exchangeLogs, prepareSecondLog } from "../../src/log/second-log.ts";
import { SealedError } from "../../src/sealing/sealed.ts";
import { integrityDetails } from "../../src/service/health/integrity-health.ts";
import { alterHeads, alterLog, alterSender, forgetChain } from "../log/damage.ts";
import { batch, fact, PACKAGE } from "../log/facts.ts";
import { freshDatabase } from "../postgres.ts";
import { entriesOf } from "./sequence-entries.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

const append = async (database: Database, first: bigint, last: bigint) => {
  const log = await openLog(database, identity);
  const numbers = Array.from({ length: Number(last - first) + 1 }, (_, i) => first + BigInt(i));
  const facts = numbers.map((checkpoint) => fact(checkpoint));
  await log.append(batch(first, last, facts), []);
};

/** Watches quickly until the end of the scope. */
const watching = async (database: Database, masterKey = randomBytes(32)) => {
  const ending = new AbortController();
  const troubles: Error[] = [];
  const ended = watchOver(
    {
      database,
      key: await openDeploymentKey(database, masterKey),
      checks: [logCheck()],
      pace: { chainEveryMs: 10, signEveryMs: 10, roundEveryMs: 10, rests: 0, catchUpRests: 0 },
      onTrouble: (error) => troubles.push(error),
    },
    ending.signal,
  );
  return {
    troubles,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await ended;
    },
  };
};

const logFindings = async (database: Database) => (await readWatchResults(database)).log;

test("a watched log is chained, signed and checked to its end; alterations are reported until they are mended", async () => {
  await using database = await freshDatabase();
  await append(database, 0n, 600n);
  await using watch = await watching(database);
  const found = () => logFindings(database);
  const whole = { chainedThrough: "600", signedThrough: "600", checkedThrough: "600", fault: null };
  await expect.poll(found, { timeout: 20_000 }).toMatchObject(whole);

  await append(database, 601n, 610n);
  const longer = {
    chainedThrough: "610",
    signedThrough: "610",
    checkedThrough: "610",
    fault: null,
  };
  await expect.poll(found, { timeout: 20_000 }).toMatchObject(longer);

  const published = async () =>
    (await entriesOf(database.sql)).flatMap(({ kind, body }) =>
      kind === "blocks" ? [body.through] : [],
    );
  await expect.poll(published, { timeout: 20_000 }).toContain("610");

  const health = integrityDetails(database);
  expect(await health()).toMatchObject({ state: "ok" });

  const { sender } = fact(300n);
  await alterSender(database, 300n, "0x0");
  await expect
    .poll(async () => (await found()).fault, { timeout: 20_000 })
    .toMatch(/^checkpoint 300: the hash of its 1 facts is not the one in log_chain/);
  const told = await health();
  expect(told).toMatchObject({ state: "stalled", members: { integrity: { state: "stalled" } } });
  expect(told.members.integrity.reason).toMatch(
    /the log was changed: checkpoint 300.*verify --log/,
  );
  await alterSender(database, 300n, sender);
  await expect.poll(found, { timeout: 20_000 }).toMatchObject(longer);
  expect(watch.troubles).toEqual([]);
});

test.each([
  [
    "a digest of a checkpoint",
    "update log_blocks set digests = set_byte(digests, 3, get_byte(digests, 3) # 1)",
    "update log_blocks set digests = set_byte(digests, 3, get_byte(digests, 3) # 1)",
    /the hash of times and digests of checkpoints 0 to 20 is not the one in log_block_chain/,
  ],
  [
    "an entry of the sequence",
    "update log_sequence set body = replace(body, 'head', 'heab') where number = 0",
    "update log_sequence set body = replace(body, 'heab', 'head') where number = 0",
    /entry 0 of the sequence does not have a signature/,
  ],
  [
    "the end of the sequence",
    "update log_sequence_head set next = next - 1",
    "update log_sequence_head set next = next + 1",
    /the sequence ends with number \d+, but log_sequence_head says/,
  ],
  [
    "an added package",
    `insert into log_packages values ('0x${"99".repeat(32)}', 4000, 0)`,
    "delete from log_packages where checkpoint = 4000",
    /log_packages: package 0x(99)+ joined at a checkpoint that the log does not have/,
  ],
])(
  "the watch finds %s that was changed, and /health names it until it is mended",
  async (_what, change, mend, words) => {
    await using database = await freshDatabase();
    await append(database, 0n, 20n);
    {
      await using _watch = await watching(database);
      const whole = { signedThrough: "20", checkedThrough: "20", fault: null };
      await expect.poll(() => logFindings(database), { timeout: 20_000 }).toMatchObject(whole);
    }
    const check = logCheck();
    const round = async () => {
      while (!(await check.next(database)).ended);
      return integrityDetails(database)();
    };
    expect(await round()).toMatchObject({ state: "ok" });
    await alterLog(database, change);
    const told = await round();
    expect(told).toMatchObject({ state: "stalled" });
    expect(told.members.integrity.reason).toMatch(words);
    await alterLog(database, mend);
    expect(await round()).toMatchObject({ state: "ok" });
  },
);

test("facts changed together with their chain contradict earlier signed heads", async () => {
  await using database = await freshDatabase();
  await append(database, 0n, 20n);
  {
    await using _watch = await watching(database);
    await expect
      .poll(() => logFindings(database), { timeout: 20_000 })
      .toMatchObject({ signedThrough: "20" });
  }
  expect(await headFault(database.sql)).toBeNull();
  // As long as the one before, so that no total tells.
  await alterSender(database, 7n, `0x${"0".repeat(64)}`);
  await forgetChain(database);
  await completeChains(database);
  const fault = await headFault(database.sql);
  expect(fault).toMatchObject({ checkpoint: 20n });
  expect(fault?.what).toMatch(/another hash than the one that was signed/);

  await forgetChain(database);
  expect((await headFault(database.sql))?.what).toMatch(/the end of the log was deleted/);
});

test.each([
  ["a deleted fact", "delete from log_facts where checkpoint = 5"],
  ["altered bytes", "update log_facts set contents = '\\x00' where checkpoint = 5"],
  [
    "a wrong total",
    "update log_checkpoints set facts_total = facts_total + 1 where checkpoint = 5",
  ],
  [
    "a fact deleted together with the chains that covered it",
    "delete from log_facts where checkpoint = 5; delete from log_checkpoints where checkpoint = 5; truncate log_chain, log_coin_chain",
  ],
  [
    "a coin type's chain without its fact",
    "update log_facts set coin_type = null where checkpoint = 5",
  ],
])("no head is signed over %s behind the last head", async (_what, statement) => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  await append(database, 0n, 3n);
  await signHead(database.sql, key);
  await append(database, 4n, 8n);
  await alterLog(database, statement);
  const signing = database.transaction(async ({ sql }) => {
    while (await extendChain(sql));
    return signHead(sql, key);
  });
  await expect(signing).rejects.toThrow(LogChangedError);
  expect(await signedHeads(database.sql, 10)).toHaveLength(1);
});

test("no head is signed over a log that contradicts a head whose row was deleted", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  await append(database, 0n, 3n);
  const sign = () => database.transaction(({ sql }) => signHead(sql, key));
  await sign();
  await alterLog(database, "delete from log_heads");
  // The same one is not signed twice.
  expect(await sign()).toBeNull();
  await alterSender(database, 2n, `0x${"0".repeat(64)}`);
  await forgetChain(database);
  await completeChains(database);
  await expect(sign()).rejects.toThrow(LogChangedError);
  await append(database, 4n, 8n);
  await expect(sign()).rejects.toThrow("does not have the hash of the signed head");
});

test("roots signed outside the sequence are entered when the watch begins", async () => {
  await using database = await freshDatabase();
  await append(database, 0n, 3n);
  const masterKey = randomBytes(32);
  const key = await openDeploymentKey(database, masterKey);
  await database.transaction(({ sql }) => signHead(sql, key));
  const root = {
    chainId: "chain-a",
    coinType: `0x${"5".padStart(64, "0")}::acme::ACME`,
    checkpoint: "3",
    checkpointDigest: "digest",
    root: "ab".repeat(32),
    total: "1000",
  };
  const { signature, keyId } = await key.sign(signedRoot(root));
  await database.sql`
    insert into published_roots
      (coin_type, checkpoint, checkpoint_digest, root, total, signature, key_id)
    values (${root.coinType}, 3, ${root.checkpointDigest}, ${root.root}, ${root.total}, ${signature}, ${keyId})`;
  await using _watch = await watching(database, masterKey);
  const bodies = async () => (await entriesOf(database.sql)).map(({ body }) => body);
  await expect.poll(bodies, { timeout: 20_000 }).toContainEqual({ version: "1", ...root });
});

test("a head with a changed signature is detected", async () => {
  await using database = await freshDatabase();
  await append(database, 0n, 3n);
  {
    await using _watch = await watching(database);
    await expect
      .poll(() => logFindings(database), { timeout: 20_000 })
      .toMatchObject({ signedThrough: "3" });
  }
  const [head] = await signedHeads(database.sql, 1);
  expect(head).toMatchObject({ checkpoint: 3n, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  await alterHeads(database);
  expect((await headFault(database.sql))?.what).toMatch(/the signature in log_heads/);
});

test("the deployment's key is made once, and only the master key that sealed it opens it", async () => {
  await using database = await freshDatabase();
  const masterKey = randomBytes(32);
  const all = await Promise.all([1, 2, 3].map(() => openDeploymentKey(database, masterKey)));
  expect(new Set(all.map(({ keyId }) => keyId)).size).toBe(1);
  await expect(openDeploymentKey(database, randomBytes(32))).rejects.toThrow(SealedError);
});

test("a head signed before the chain's id was known stays valid", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, { ...identity, chainId: null });
  await log.append(batch(0n, 0n, [fact(0n)]), []);
  await signHead(database.sql, await openDeploymentKey(database, randomBytes(32)));
  await append(database, 1n, 1n);
  expect(await headFault(database.sql)).toBeNull();
});

test("a log that is replaced while watched is found whole, and chained from its beginning", async () => {
  await using database = await freshDatabase({ max: 8 });
  await append(database, 0n, 600n);
  const masterKey = randomBytes(32);
  await using watch = await watching(database, masterKey);
  const key = await openDeploymentKey(database, masterKey);
  const found = () => logFindings(database);
  for (let round = 0n; round < 5n; round += 1n) {
    await database.transaction((tx) =>
      prepareSecondLog(tx, { address: `0x${"ad".repeat(31)}0${round}`, from: 601n + round }),
    );
    await database.transaction(async (tx) => {
      await exchangeLogs(tx);
      await correctLog(tx.sql, key, { why: "read anew", through: 600n + round });
    });
    expect((await found()).fault).toBeNull();
    await append(database, 601n + round, 601n + round);
  }
  const whole = { chainedThrough: "605", signedThrough: "605", checkedThrough: "605", fault: null };
  await expect.poll(found, { timeout: 20_000 }).toMatchObject(whole);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null });
  expect(watch.troubles.map((error) => error.message)).toEqual([]);
});

test("acts are published as they happen, many in one batch, and heads are signed meanwhile", async () => {
  await using database = await freshDatabase();
  await append(database, 0n, 10n);
  const record = (from: number, to: number) =>
    database.transaction(async ({ sql }) => {
      for (let at = from; at <= to; at += 1) {
        await recordAct(sql, { command: "rebuild", details: { at: `${at}` }, on: "deployment" });
      }
    });
  await record(1, 50);
  await using watch = await watching(database);
  const published = async () =>
    (await entriesOf(database.sql)).flatMap(({ kind, body }) => (kind === "act" ? [body.act] : []));
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}`);
  await expect.poll(published, { timeout: 20_000 }).toEqual(numbers(50));
  await record(51, 52);
  await expect.poll(published, { timeout: 20_000 }).toEqual(numbers(52));
  const kinds = (await entriesOf(database.sql)).map(({ kind }) => kind);
  expect(kinds.indexOf("head")).toBeLessThan(kinds.lastIndexOf("act"));
  expect(watch.troubles).toEqual([]);
});
