/** Ends of times and digests, and of input versions, in the sequence, and the log held against what the sequence says. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createChainEntries } from "../../src/audit/sequence/chain-entries.ts";
import { publishCoinEnd } from "../../src/audit/sequence/coin-entries.ts";
import { type DeploymentKey, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { verifyLog } from "../../src/audit/verify/verify-log.ts";
import { blockHashesAt } from "../../src/log/block-chain.ts";
import { completeChains } from "../../src/log/chain.ts";
import { type Log, openLog } from "../../src/log/log.ts";
import { alterLog, forgetChain } from "../log/damage.ts";
import { batch, COIN, fact, PACKAGE } from "../log/facts.ts";
import { chainInputsAnew } from "../log/inputs.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { entriesOf } from "./sequence-entries.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };
const { signal } = new AbortController();

const grow = async (log: Log, first: bigint, last: bigint) => {
  for (let at = first; at <= last; at += 2n) await log.append(batch(at, at + 1n, [fact(at)]), []);
};

/** As the watch does, to the end. */
const publish = async (database: TestDatabase, key: DeploymentKey) => {
  const entries = createChainEntries(key);
  while (!(await entries.next(database)).ended);
};

const bodies = async ({ sql }: TestDatabase) =>
  (await entriesOf(sql)).filter(({ kind }) => kind === "blocks").map(({ body }) => body);

const faultsOf = async (database: TestDatabase) => {
  const { faults } = await verifyLog(database, { asked: false, trusted: null }, signal);
  return faults.map(({ what }) => what);
};

test("the end of times and digests is published once when it has moved", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  const log = await openLog(database, identity);
  await publish(database, key);
  expect(await bodies(database)).toEqual([]);
  await grow(log, 0n, 9n);
  await publish(database, key);
  await publish(database, key);
  await grow(log, 10n, 15n);
  await publish(database, key);
  const hashes = await blockHashesAt(database.sql, 0n, [9n, 12n, 15n], signal);
  const body = { chainId: "chain-a", from: "0" };
  expect(await bodies(database)).toEqual([
    { ...body, through: "9", hash: hashes.get(9n) },
    { ...body, through: "15", hash: hashes.get(15n) },
  ]);
  expect(await faultsOf(database)).toEqual([]);
});

/** Later by 20 s, at whichever places nothing else in the database tells the time of. */
const LATER = `
  update log_blocks b set times = substring(times for 8) || int8send(
    ('x' || encode(substring(times from 9 for 8), 'hex'))::bit(64)::int8 + 20000),
    reached_ms = reached_ms + 20000 where first_checkpoint = `;

test("times moved behind the last entry are not published; those before it contradict it", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  const log = await openLog(database, identity);
  await grow(log, 0n, 9n);
  await publish(database, key);
  await grow(log, 10n, 15n);
  await alterLog(database, `${LATER} 12`);
  await expect(publish(database, key)).rejects.toThrow(/not the one in log_block_chain/);
  expect(await bodies(database)).toHaveLength(1);
});

test("a log whose chains were all rebuilt contradicts the earlier entries", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  const log = await openLog(database, identity);
  await grow(log, 0n, 9n);
  await publish(database, key);
  const end = { chainId: "chain-a", coinType: COIN, checkpoint: 9n };
  await database.transaction(({ sql }) => publishCoinEnd(sql, key, end));
  const anew = async (statement: string) => {
    await alterLog(database, statement);
    await forgetChain(database);
    await completeChains(database);
    return (await faultsOf(database)).join("\n");
  };
  expect(await anew("select 1")).toBe("");
  const sender = `0x${"0".repeat(64)}`;
  expect(await anew(`update log_facts set sender = '${sender}' where checkpoint = 4`)).toMatch(
    /^entry 2 of the sequence \(coin\) has another end of the facts of 0x\S+ACME than/,
  );
  const times = await anew(`${LATER} 8; update log_high_water set reached_ms = reached_ms + 20000,
    last_timestamp_ms = last_timestamp_ms + 20000`);
  expect(times).toMatch(
    /entry 1 of the sequence \(blocks\) does not fit times and digests of checkpoints 0 to 9/,
  );
});

test("each time and digest has its own hash, regardless of where blocks begin and end", async () => {
  await using one = await freshDatabase();
  await using other = await freshDatabase();
  await grow(await openLog(one, identity), 0n, 9n);
  await (await openLog(other, identity)).append(batch(0n, 9n), []);
  const all = Array.from({ length: 10 }, (_, at) => BigInt(at));
  const hashes = await blockHashesAt(one.sql, 0n, all, signal);
  expect(hashes.size).toBe(10);
  expect(new Set(hashes.values()).size).toBe(10);
  expect(await blockHashesAt(other.sql, 0n, all, signal)).toEqual(hashes);
  expect(await blockHashesAt(other.sql, 0n, [9n, 10n], signal)).toEqual(
    new Map([[9n, hashes.get(9n)]]),
  );
});

/** A log of before with its older stretch filled in up to a checkpoint, and appended to from 10 on. */
const logOfTwoStretches = async (database: TestDatabase) => {
  const inputs = (checkpoint: bigint) => fact(checkpoint, 3, { kind: "object" });
  const log = await openLog(database, identity);
  for (const first of [0n, 10n]) {
    const facts = Array.from({ length: 10 }, (_, at) => inputs(first + BigInt(at)));
    await log.append(batch(first, first + 9n, facts), []);
  }
  await alterLog(database, "update log_high_water set inputs_from = 10");
  await chainInputsAnew(database);
  // It remembers where the chains end.
  return { log: await openLog(database, identity), inputs };
};

const inputBodies = async ({ sql }: TestDatabase) =>
  (await entriesOf(sql)).filter(({ kind }) => kind === "inputs").map(({ body }) => body);

test("the ends of both stretches of input versions are published once when they have moved", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  const { log, inputs } = await logOfTwoStretches(database);
  await alterLog(
    database,
    "create table later as select * from log_inputs where checkpoint in (7, 8, 9)",
  );
  await alterLog(
    database,
    "create table later_chain as select * from log_input_chain where checkpoint in (7, 8, 9)",
  );
  for (const table of ["log_inputs", "log_input_chain"]) {
    await alterLog(database, `delete from ${table} where checkpoint in (7, 8, 9)`);
  }
  await publish(database, key);
  await publish(database, key);
  const spans = async () =>
    (await inputBodies(database)).map(({ from, through }) => [from, through]);
  expect(await spans()).toEqual([
    ["0", "6"],
    ["10", "19"],
  ]);
  await log.append(batch(20n, 21n, [inputs(20n)]), []);
  await alterLog(database, "insert into log_inputs table later");
  await alterLog(database, "insert into log_input_chain table later_chain");
  await publish(database, key);
  expect((await spans()).slice(2)).toEqual([
    ["0", "9"],
    ["10", "20"],
  ]);
  const [hash] = await database.sql<{ hash: Buffer }[]>`
    select hash from log_input_chain where checkpoint = 20`;
  const body = { chainId: "chain-a", from: "10", through: "20", hash: hash?.hash.toString("hex") };
  expect((await inputBodies(database)).at(-1)).toEqual(body);
  expect(await faultsOf(database)).toEqual([]);
});

test("input versions that do not match their chain or the last entry are not published", async () => {
  await using database = await freshDatabase();
  const key = await openDeploymentKey(database, randomBytes(32));
  const { log, inputs } = await logOfTwoStretches(database);
  await publish(database, key);
  await log.append(batch(20n, 20n, [inputs(20n)]), []);
  const later = "update log_inputs set version = version + 1 where checkpoint";
  await alterLog(database, `${later} = 20`);
  await expect(publish(database, key)).rejects.toThrow(/not the one in log_input_chain/);
  await alterLog(database, `${later} = 15`);
  await chainInputsAnew(database);
  await expect(publish(database, key)).rejects.toThrow(/does not have the hash of an entry/);
  expect(await inputBodies(database)).toHaveLength(2);
  expect(await faultsOf(database)).toEqual([
    expect.stringMatching(
      /^entry \d+ of the sequence \(inputs\) has another hash of the inputs of checkpoints 10 to 19 than/,
    ),
  ]);
});
