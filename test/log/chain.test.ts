// @module-tag thorough
/** The hash chain over the log: what it covers, and what it finds. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { connect, type Database, type Sql } from "../../src/database/connect.ts";
import { chainEnd, completeChains, extendChain } from "../../src/log/chain.ts";
import { checkStretch, endFault } from "../../src/log/check-chain.ts";
import { SQL_FACT_BYTES } from "../../src/log/fact.ts";
import { openLog } from "../../src/log/log.ts";
import { guest } from "../lanes/guest.ts";
import { freshDatabase } from "../postgres.ts";
import { alterLog, forgetChain } from "./damage.ts";
import { batch, fact, mark, PACKAGE } from "./facts.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** Checkpoints 0 to 29; every third one has two facts and an object. */
const fill = async (database: Database, size = 10n) => {
  const log = await openLog(database, identity);
  for (let first = 0n; first < 30n; first += size) {
    const facts = Array.from({ length: Number(size) }, (_, i) => first + BigInt(i))
      .filter((checkpoint) => checkpoint % 3n === 0n)
      .flatMap((checkpoint) => [
        fact(checkpoint),
        fact(checkpoint, 0, { kind: "object" }),
        fact(checkpoint, 1),
      ]);
    await log.append(batch(first, first + size - 1n, facts), []);
  }
};

const chainOf = async ({ sql }: Database): Promise<readonly string[]> => {
  const rows = await sql<{ hash: Buffer }[]>`select hash from log_chain order by checkpoint`;
  return rows.map(({ hash }) => hash.toString("hex"));
};

/** All rows of all chains. */
const chainsOf = async ({ sql }: Database) => ({
  facts: await sql`select * from log_chain order by checkpoint`,
  coins: await sql`select * from log_coin_chain order by coin_type, checkpoint`,
  blocks: await sql`select * from log_block_chain order by first_checkpoint`,
});

test("the chain is independent of batches, and hashes as documented", async () => {
  await using one = await freshDatabase();
  await using other = await freshDatabase();
  await fill(one);
  await fill(other, 3n);
  const chain = await chainOf(one);
  expect(chain).toHaveLength(10);
  expect(await chainOf(other)).toEqual(chain);

  // By hand, from the description alone.
  const field = (value: string | Uint8Array | null) => {
    if (value === null) return Buffer.alloc(4, 0xff);
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const hash = (...parts: Uint8Array[]) =>
    createHash("sha256").update(Buffer.concat(parts)).digest();
  const { timestampMs, digest } = mark(0n);
  const facts = [fact(0n), fact(0n, 0, { kind: "object" }), fact(0n, 1)].map((each) => {
    const object = each.kind === "event" ? undefined : each;
    return Buffer.concat([
      field(`${each.checkpoint}`),
      field(`${each.transaction}`),
      field(each.kind === "event" ? "0" : "1"),
      field(`${each.index}`),
      field(`${each.timestampMs}`),
      field(each.type),
      field(each.name),
      field(each.coinType),
      field(each.txDigest),
      field(each.sender),
      field(object?.objectId ?? null),
      field(object?.version.toString() ?? null),
      field(each.kind === "removal" ? null : each.contents),
    ]);
  });
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(timestampMs, 8);
  const first = hash(Buffer.alloc(32), numbers, Buffer.from(digest), hash(...facts));
  expect(chain[0]).toBe(first.toString("hex"));
});

test("an untouched log has no faults, also where not chained yet", async () => {
  await using database = await freshDatabase();
  await fill(database);
  await forgetChain(database);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, facts: 30 });
  await completeChains(database);
  const whole = { through: 29n, checkpoints: 10, facts: 30, fault: null, ended: true };
  expect(await checkStretch(database.sql, -1n)).toEqual(whole);
  expect(await checkStretch(database.sql, 12n)).toMatchObject({ facts: 15, fault: null });
});

test.each([
  [
    "a deleted fact",
    12n,
    "delete from log_facts where checkpoint = 12 and transaction = 1",
    /some were deleted/,
  ],
  [
    "all facts of a checkpoint deleted",
    12n,
    "delete from log_facts where checkpoint = 12",
    /no fact: all were deleted/,
  ],
  [
    "altered bytes",
    15n,
    "update log_facts set contents = set_byte(contents, 3, 7) where checkpoint = 15 and kind = 1",
    /bytes of a fact.*were altered/,
  ],
  [
    "an altered coin type",
    9n,
    "update log_facts set coin_type = coin_type || 'X' where checkpoint = 9 and transaction = 1",
    /were altered/,
  ],
  [
    "an altered sender",
    9n,
    "update log_facts set sender = '0x0' where checkpoint = 9 and transaction = 1",
    /were altered/,
  ],
  [
    "a moved fact",
    9n,
    "update log_facts set checkpoint = 10 where checkpoint = 9 and transaction = 1",
    /some were deleted/,
  ],
  [
    "an added fact",
    6n,
    "insert into log_facts select checkpoint, 7, kind, index, timestamp_ms, type, name, coin_type, tx_digest, sender, object_id, version, contents from log_facts where checkpoint = 6 and transaction = 1",
    /some were added/,
  ],
  [
    "a fact in a checkpoint without any",
    7n,
    "insert into log_facts select 7, transaction, kind, index, timestamp_ms, type, name, coin_type, tx_digest, sender, object_id, version, contents from log_facts where checkpoint = 6 and transaction = 1",
    /has no row/,
  ],
  [
    "a checkpoint's row deleted",
    18n,
    "delete from log_checkpoints where checkpoint = 18",
    /has no row/,
  ],
  [
    "a checkpoint's digest altered",
    18n,
    "update log_checkpoints set digest = 'x' where checkpoint = 18",
    /were altered/,
  ],
  [
    "a checkpoint gone altogether",
    21n,
    "with a as (delete from log_facts where checkpoint = 21), b as (delete from log_checkpoints where checkpoint = 21) delete from log_chain where checkpoint = 21",
    /were altered|instead of|log_coin_chain has a row/,
  ],
  [
    "a row of the chain deleted",
    21n,
    "delete from log_chain where checkpoint = 21",
    /does not know/,
  ],
  [
    "a row of the chain altered",
    3n,
    "update log_chain set hash = sha256(hash) where checkpoint = 3",
    /were altered/,
  ],
  [
    "a total altered",
    27n,
    "update log_checkpoints set facts_total = facts_total + 1 where checkpoint = 27",
    /counts/,
  ],
])("%s is detected and named", async (_what, checkpoint, statement, words) => {
  await using database = await freshDatabase();
  await fill(database);
  await alterLog(database, statement);
  const { fault } = await checkStretch(database.sql, -1n);
  expect(fault?.what).toMatch(words);
  // What is gone altogether shows where the chain goes on without it.
  expect([checkpoint, checkpoint + 3n]).toContain(fault?.checkpoint);
});

test("a log's end that differs from its high-water mark is detected", async () => {
  await using database = await freshDatabase();
  expect(await endFault(database.sql)).toBeNull();
  await openLog(database, identity);
  expect(await endFault(database.sql)).toBeNull();
  await fill(database);
  expect(await endFault(database.sql)).toBeNull();
  const move = (next: number) => `update log_high_water set next_checkpoint = ${next}`;
  const found = async (statement: string) => {
    await alterLog(database, statement);
    return (await endFault(database.sql))?.what;
  };
  expect(await found(move(25))).toMatch(/was moved back: the log continues to 29/);
  expect(await found(move(40))).toMatch(/was moved, or .*ends with 29/);
  expect(await found(move(30))).toBeUndefined();
  const tail = (table: string) => `delete from ${table} where checkpoint >= 24`;
  for (const table of ["log_facts", "log_chain"]) await alterLog(database, tail(table));
  expect(await found(tail("log_checkpoints"))).toMatch(/the end of the log was deleted/);
});

/** How many rows of the facts' table some work reads. */
const rowsRead = async (sql: Sql, work: () => Promise<unknown>): Promise<bigint> => {
  // Counts what this connection has not reported yet: of earlier transactions, too.
  const soFar = async () => {
    const [row] = await sql<{ rows: bigint }[]>`
      select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int8 as rows
      from pg_stat_xact_user_tables where starts_with(relname, 'log_facts_from_')`;
    return row?.rows ?? 0n;
  };
  const before = await soFar();
  await work();
  return (await soFar()) - before;
};

test("chaining and checking read only the facts of their stretch, however long the log is", async () => {
  await using database = await freshDatabase();
  await fill(database);
  // As if there had been one more fact in each of many checkpoints.
  await alterLog(
    database,
    `insert into log_facts
     select n, transaction, kind, index, timestamp_ms, type, name, coin_type, tx_digest, sender, object_id, version, contents
     from log_facts, generate_series(30, 20000) n where checkpoint = 0 and transaction = 1`,
  );
  await alterLog(
    database,
    `insert into log_checkpoints select n, digest, timestamp_ms, facts_total + n - 29,
       bytes_total + (n - 29) * (select max(bytes) from (select ${SQL_FACT_BYTES} as bytes from log_facts where checkpoint = 0 and transaction = 1) one)
     from log_checkpoints, generate_series(30, 20000) n where checkpoint = 27`,
  );
  await alterLog(database, "update log_high_water set next_checkpoint = 20001");
  await database.sql`analyze`;
  await database.transaction(async ({ sql }) => {
    // Reading a small table whole, from memory, may be the best there is.
    await sql`set local random_page_cost = 8`;
    expect(await rowsRead(sql, () => extendChain(sql))).toBeLessThan(1_000n);
    const looking = rowsRead(sql, async () => {
      expect(await checkStretch(sql, -1n)).toMatchObject({ fault: null, ended: false });
    });
    expect(await looking).toBeLessThan(1_000n);
  });
});

test("stretches of checkpoints with many facts are shorter, and the chain is the same", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const many = (checkpoint: bigint, count: number) =>
    Array.from({ length: count }, (_, transaction) => fact(checkpoint, transaction));
  await log.append(batch(0n, 0n, many(0n, 12_000)), []);
  await log.append(batch(1n, 3n, [...many(1n, 6_000), ...many(2n, 6_000), ...many(3n, 1)]), []);
  const written = await chainsOf(database);
  await forgetChain(database);
  await database.transaction(async ({ sql }) => {
    expect(await extendChain(sql)).toBe(true);
    expect(await chainEnd(sql)).toMatchObject({ checkpoint: 1n });
    expect(await extendChain(sql)).toBe(true);
    expect(await chainEnd(sql)).toMatchObject({ checkpoint: 3n });
  });
  await completeChains(database);
  expect(await chainsOf(database)).toEqual(written);
  const first = { through: 1n, facts: 18_000, fault: null, ended: false };
  expect(await checkStretch(database.sql, -1n)).toMatchObject(first);
  const second = { through: 3n, facts: 6_001, fault: null, ended: true };
  expect(await checkStretch(database.sql, 1n)).toMatchObject(second);
});

test("the service's role, which cannot change a chain, still completes all of them", async () => {
  await using database = await freshDatabase();
  await fill(database);
  const written = await chainsOf(database);
  await forgetChain(database);
  await using login = await guest(database);
  await using service = connect({ url: login.url, max: 2, applicationName: "service" });
  await completeChains(service);
  expect(await chainsOf(database)).toEqual(written);
});
