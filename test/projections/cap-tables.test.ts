import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CapPlace, placeOf } from "../../client/cap-rows.ts";
import * as events from "../../src/ledger/contract/events.ts";
import * as names from "../../src/ledger/contract/names.ts";
import {
  decodeSharedToken,
  decodeTimelock,
  type Timelock,
} from "../../src/ledger/contract/objects.ts";
import type { Fact } from "../../src/log/fact.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { resetPipeline } from "../../src/pipelines/register.ts";
import { CAP_TABLE_SOURCES, ROWS } from "../../src/projections/cap-rows.ts";
import { type CapRow, createCapTables } from "../../src/projections/cap-tables.ts";
import { guardedReads } from "../../src/projections/guarded-reads.ts";
import { createListCache } from "../../src/projections/list-cache.ts";
import { createSumTree } from "../../src/projections/merkle-sum.ts";
import { FOR_CAP_TABLES } from "../../src/projections/needed.ts";
import { blake2b256 } from "../../src/values/blake2b.ts";
import { setHighWater, setWatermarks } from "../graphql/rows.ts";
import { batchOf } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { modelOf } from "./plain-model.ts";
import { project } from "./project.ts";
import { COINS, cuts, history, OWNERS } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);

/** What the schedule unlocked, step by step as timelock.move says it. */
const unlockedBy = (grant: Timelock, atMs: bigint): bigint => {
  const first = grant.commencementTimestampMs + grant.delayUntilFirstReleaseMs;
  if (atMs < first) return 0n;
  const steps = grant.releaseCount - 1n;
  if (steps <= 0n) return grant.totalAmount;
  const initial = (grant.totalAmount * grant.initialReleasePortionBps) / 10_000n;
  const period = grant.periodBetweenReleasesMs;
  const whole = period === 0n ? steps : (atMs - first) / period;
  const passed = whole < steps ? whole : steps;
  return initial + ((grant.totalAmount - initial) * passed) / steps;
};

const byNumber = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

const claimable = (grant: Timelock, atMs: bigint): bigint => {
  const due = unlockedBy(grant, atMs) - grant.tokensTransferred;
  if (due <= 0n) return 0n;
  return [due, grant.leftBalance].sort(byNumber)[0] ?? 0n;
};

/** The cap table after these facts, worked out the plainest way. */
const capTableOf = (facts: readonly Fact[], coinType: string, atMs: bigint): readonly CapRow[] => {
  const tokens = new Map<string, ReturnType<typeof decodeSharedToken>>();
  const grants = new Map<string, Timelock>();
  const holders = new Map<string, bigint>();
  const groups = new Map<string, bigint>();
  const frozen = new Map<string, boolean>();
  for (const fact of facts.filter((one) => one.coinType === coinType)) {
    if (fact.kind === "removal") {
      tokens.delete(fact.objectId);
      grants.delete(fact.objectId);
    } else if (fact.kind === "object") {
      if (fact.name === names.SHARED_TOKEN)
        tokens.set(fact.objectId, decodeSharedToken(fact.contents));
      if (fact.name === names.TIMELOCK) grants.set(fact.objectId, decodeTimelock(fact.contents));
    } else if (fact.name === names.HOLDER_ADDRESS_ADDED) {
      const { holderId, addr } = events.decodeHolderAddressAdded(fact.contents);
      holders.set(addr, holderId);
    } else if (fact.name === names.HOLDER_ADDRESS_REMOVED) {
      holders.delete(events.decodeHolderAddressRemoved(fact.contents).addr);
    } else if (fact.name === names.ADDRESS_JOINED_GROUP) {
      const { addr, groupId } = events.decodeAddressJoinedGroup(fact.contents);
      groups.set(addr, groupId);
    } else if (fact.name === names.ADDRESS_LEFT_GROUP) {
      groups.delete(events.decodeAddressLeftGroup(fact.contents).addr);
    } else if (fact.name === names.ADDRESS_FROZEN) {
      const { addr, isFrozen } = events.decodeAddressFrozen(fact.contents);
      frozen.set(addr, isFrozen);
    }
  }
  const sumOf = <Held>(all: Iterable<Held>, amount: (held: Held) => bigint) =>
    [...all].reduce((sum, held) => sum + amount(held), 0n);
  const wallets = OWNERS.map((address) => {
    const own = [...tokens.values()].filter(({ owner }) => owner === address);
    const vesting = [...grants.values()].filter(({ owner }) => owner === address);
    const [held, granted] = [sumOf(own, (t) => t.balance), sumOf(vesting, (g) => g.leftBalance)];
    return {
      key: holders.get(address)?.toString() ?? address,
      holderId: holders.get(address) ?? null,
      tokens: held,
      granted,
      unlocked: sumOf(vesting, (grant) => claimable(grant, atMs)),
      wallet: {
        address,
        balance: held + granted,
        groupId: groups.get(address) ?? null,
        isFrozen: frozen.get(address) ?? false,
      },
    };
  });
  return [...Map.groupBy(wallets, ({ key }) => key).values()]
    .map((group): CapRow => {
      const [tokensHeld, granted] = [sumOf(group, (w) => w.tokens), sumOf(group, (w) => w.granted)];
      const unlocked = sumOf(group, (w) => w.unlocked);
      return {
        holderId: group[0]?.holderId ?? null,
        wallets: group.map(({ wallet }) => wallet),
        balance: tokensHeld + granted,
        tokens: tokensHeld,
        granted,
        unlocked,
        locked: granted - unlocked,
      };
    })
    .filter(({ balance }) => balance > 0n)
    .sort(
      (a, b) =>
        byNumber(b.balance, a.balance) ||
        byNumber(a.holderId ?? 2n ** 64n, b.holderId ?? 2n ** 64n) ||
        ((a.wallets[0]?.address ?? "") < (b.wallets[0]?.address ?? "") ? -1 : 1),
    );
};

test("the cap table of every past checkpoint equals a plain model's, and so does its list of owners", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      const tables = createCapTables();
      for (const [index, { timestampMs = 0n }] of checkpoints.entries()) {
        const checkpoint = BigInt(index);
        const { facts } = batchOf(checkpoints.slice(0, index + 1));
        const at = { checkpoint, timestampMs };
        for (const coinType of COINS) {
          const expected = capTableOf(facts, coinType, timestampMs);
          expect(
            await tables.rows(guardedReads(db, FOR_CAP_TABLES), { coinType, at, limit: 100 }),
          ).toEqual(expected);
          expect(
            await tables.owners(guardedReads(db, FOR_CAP_TABLES), {
              coinType,
              checkpoint,
              limit: 100,
            }),
          ).toEqual(modelOf(facts).holders(coinType, OWNERS, true));
          const totals = await tables.totals(guardedReads(db, FOR_CAP_TABLES), { coinType, at });
          expect(totals).toMatchObject({
            issued: expected.reduce((sum, { balance }) => sum + balance, 0n),
            holderCount: expected.length,
          });
        }
      }
    }),
    8,
  );
});

const byPlace = { compare: (a: number, b: number) => a - b, placeOf: (row: number) => row };

/** Reads of a list are counted. */
const counting = (rows: readonly number[]) => {
  const counted = {
    reads: 0,
    read: async (after: number, limit: number) => {
      counted.reads += 1;
      return rows.filter((row) => row > after).slice(0, limit);
    },
  };
  return counted;
};

test("a list is cached for a minute, but not an empty one or one of large rows", async () => {
  let nowMs = 0;
  const lists = createListCache<number, number>(100, {
    ...byPlace,
    sizeOf: (row) => row,
    now: () => nowMs,
  });
  const [small, empty, large] = [counting([1, 2, 3]), counting([]), counting([60, 70])];
  for (let page = 0; page < 3; page += 1) {
    expect(await lists.page("small", 1, 10, -1, small.read)).toEqual([2, 3]);
    expect(await lists.page("empty", 1, 10, -1, empty.read)).toEqual([]);
    expect(await lists.page("large", 60, 10, -1, large.read)).toEqual([70]);
  }
  expect([small.reads, empty.reads]).toEqual([1, 3]);
  // The first one found out.
  expect(large.reads).toBe(1 + 3);
  nowMs = 60_000;
  await lists.page("small", 1, 10, -1, small.read);
  expect(small.reads).toBe(2);
});

test("a cap table and its sums are of one moment, also after a rebuild from another log", async () => {
  const { db } = database;
  const [coinType] = COINS;
  const [owner = ""] = OWNERS;
  let nowMs = 0;
  const tables = createCapTables(() => nowMs);
  const at = { checkpoint: 9n, timestampMs: 9n };
  const seen = async (balance: number) => {
    await database.sql`truncate token_changes, grant_changes, membership_ranges, timelock_objects, timelock_ranges`;
    await database.sql`
      insert into token_changes values (${coinType}, ${owner}, 0, 'MINT', ${balance}, ${balance}, 'tx', 0)`;
    const rows = await tables.rows(guardedReads(db, FOR_CAP_TABLES), { coinType, at, limit: 10 });
    const { issued } = await tables.totals(guardedReads(db, FOR_CAP_TABLES), { coinType, at });
    return [rows.map((row) => row.balance), issued];
  };
  expect(await seen(5)).toEqual([[5n], 5n]);
  nowMs = 60_001;
  expect(await seen(7)).toEqual([[7n], 7n]);
});

test("a register assembled before a rebuild is not served after it", async () => {
  const tables = createCapTables();
  const at = { checkpoint: 0n, timestampMs: 0n };
  const [coinType = ""] = COINS;
  const holders = async () => {
    const reads = () => guardedReads(database.db, FOR_CAP_TABLES);
    const { holderCount } = await tables.totals(reads(), { coinType, at });
    const rows = await tables.rows(reads(), { coinType, at, limit: 10 });
    const owners = await tables.owners(reads(), { coinType, checkpoint: 0n, limit: 10 });
    return [holderCount, rows.length, owners.length];
  };
  const { sql } = database;
  const rebuilt = async () => {
    for (const pipeline of ledgerPipelines) {
      await resetPipeline(database, pipeline);
      await sql`update ${sql(getTableName(pipeline.watermark))} set rebuilding_to = null`;
    }
    await setWatermarks(database, 0n);
  };
  await setHighWater(database, 0n);
  await rebuilt();
  await sql`
    insert into token_changes (coin_type, owner, position, cause, change, balance_after, tx_digest, timestamp_ms)
    values (${coinType}, ${OWNERS[0] ?? ""}, 1, 'MINT', 5, 5, 'digest', 0)`;
  expect(await holders()).toEqual([1, 1, 1]);
  await rebuilt();
  expect(await holders()).toEqual([0, 0, 0]);
});

test("a page begins after its cursor, with a cached or a fresh list", async () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => n);
  const read = async (after: number, limit: number) =>
    rows.filter((row) => row > after).slice(0, limit);
  const lists = createListCache<number, number>(20_000, byPlace);
  for (const after of [-1, 0, 999, 29_990, 29_999]) {
    expect(await lists.page("long", after, 20, -1, read)).toEqual(await read(after, 20));
  }
  let reads = 0;
  const counted = async (after: number, limit: number) => {
    reads += 1;
    return rows
      .slice(0, 500)
      .filter((row) => row > after)
      .slice(0, limit);
  };
  for (const after of [-1, 0, 250, 498, 499]) {
    const page = await lists.page("short", after, 20, -1, counted);
    expect(page).toEqual(
      rows
        .slice(0, 500)
        .filter((row) => row > after)
        .slice(0, 20),
    );
  }
  expect(reads).toBe(1);
});

/** Short lists of numbers. */
const smallLists = () =>
  createListCache<number, number>(10, { compare: (a, b) => a - b, placeOf: (row) => row });

test("concurrent requests for a list read it once", async () => {
  const lists = smallLists();
  let reads = 0;
  const read = async () => {
    reads += 1;
    await turn();
    return [1, 2, 3];
  };
  const pages = [-1, 1, 2].map((after) => lists.page("list", after, 2, -1, read));
  expect(await Promise.all(pages)).toEqual([[1, 2], [2, 3], [3]]);
  expect(reads).toBe(1);
});

test("a failed read of a shared list fails no other caller", async () => {
  const lists = smallLists();
  const hungUp = async () => {
    await turn();
    throw new Error("the caller hung up");
  };
  let reads = 0;
  const read = async () => {
    reads += 1;
    await turn();
    return [1, 2, 3];
  };
  const gone = lists.page("list", -1, 2, -1, hungUp);
  const others = [-1, 1].map((after) => lists.page("list", after, 2, -1, read));
  await expect(gone).rejects.toThrow("hung up");
  expect(await Promise.all(others)).toEqual([
    [1, 2],
    [2, 3],
  ]);
  expect(reads).toBe(1);
});

type Leaf = {
  readonly coinType: string;
  readonly checkpoint: bigint;
  readonly holderId: bigint | null;
  readonly addresses: readonly string[];
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
};

/** The tree as it is defined: level by level, pairs from the left, a lone last node moved up. */
const plainRoot = (leaves: readonly Leaf[]): string => {
  const text = (value: string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(value));
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const sumBytes = (sum: bigint) => Buffer.from(sum.toString(16).padStart(32, "0"), "hex");
  const hash = (bytes: Buffer) => Buffer.from(blake2b256(new Uint8Array(), bytes));
  let level = leaves.map((leaf) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(leaf.addresses.length);
    const fields = [
      leaf.coinType,
      `${leaf.checkpoint}`,
      leaf.holderId === null ? "" : `${leaf.holderId}`,
    ];
    const amounts = [leaf.balance, leaf.tokens, leaf.granted].map(String);
    return {
      hash: hash(
        Buffer.concat([
          Buffer.of(0),
          ...fields.map(text),
          count,
          ...leaf.addresses.map(text),
          ...amounts.map(text),
        ]),
      ),
      sum: leaf.balance,
    };
  });
  if (level.length === 0) return "00".repeat(32);
  while (level.length > 1) {
    const next: typeof level = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at], level[at + 1]];
      if (left === undefined) continue;
      next.push(
        right === undefined
          ? left
          : {
              hash: hash(
                Buffer.concat([
                  Buffer.of(1),
                  left.hash,
                  sumBytes(left.sum),
                  right.hash,
                  sumBytes(right.sum),
                ]),
              ),
              sum: left.sum + right.sum,
            },
      );
    }
    level = next;
  }
  return level[0]?.hash.toString("hex") ?? "";
};

test("the root of any number of rows equals that of the tree built level by level", () => {
  for (let count = 0; count <= 40; count += 1) {
    const leaves = Array.from({ length: count }, (_, n): Leaf => {
      const address = `0x${createHash("sha256").update(`${n}`).digest("hex")}`;
      const balance = BigInt(1_000 - n) * 2n ** 70n;
      return {
        coinType: COINS[0],
        checkpoint: 7n,
        holderId: n % 3 === 0 ? null : BigInt(n),
        addresses: [address, `${address}f`],
        balance,
        tokens: balance - 5n,
        granted: 5n,
      };
    });
    const tree = createSumTree();
    for (const { coinType, checkpoint, addresses, ...row } of leaves) {
      const wallets = addresses.map((address) => ({ address }));
      tree.add({ coinType, checkpoint, row: { ...row, wallets } });
    }
    expect(tree.top().root, `${count} rows`).toBe(plainRoot(leaves));
  }
});

test("the pages of a cap table add up to it", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      const at = { checkpoint: BigInt(checkpoints.length - 1), timestampMs: 1_700_000_100_000n };
      for (const coinType of COINS) {
        const all = await createCapTables().rows(guardedReads(db, FOR_CAP_TABLES), {
          coinType,
          at,
          limit: 100,
        });
        const paged: CapRow[] = [];
        for (let after: CapPlace | undefined; ; ) {
          const [row] = await createCapTables().rows(guardedReads(db, FOR_CAP_TABLES), {
            coinType,
            at,
            limit: 1,
            after,
          });
          if (row === undefined) break;
          paged.push(row);
          after = placeOf(row);
        }
        expect(paged).toEqual(all);
      }
    }),
    4,
  );
});

test("every table that a cap table is read from counts when its published roots are compared", () => {
  const read = [...ROWS.matchAll(/from (\w+)\s+where/g)].map(([, table]) => table);
  expect(new Set(Object.keys(CAP_TABLE_SOURCES))).toEqual(new Set(read));
});
