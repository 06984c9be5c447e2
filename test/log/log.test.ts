import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Reads } from "../../src/database/readers.ts";
import { resolveCoin } from "../../src/log/coins.ts";
import { type Fact, factBytes } from "../../src/log/fact.ts";
import { factSource, type Log, openLog } from "../../src/log/log.ts";
import {
  ChainMismatchError,
  HighWaterMovedError,
  InvalidBatchError,
  LogNotOpenedError,
  PackagesChangedError,
  UnmetPackagesError,
} from "../../src/log/log-errors.ts";
import { watchPackages } from "../../src/log/packages.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { batch, COIN, fact, filled, mark, PACKAGE } from "./facts.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };
const all = { maxFacts: 10_000, maxBytes: 100_000_000 };
const NAMES = ["shared_token::Transfer"];

/** Everything with these names, batch by batch, checking that batches follow one another. */
const readAll = async (log: Pick<Log, "readFacts">, names: readonly string[], bounds = all) => {
  const facts: Fact[] = [];
  const sizes: number[] = [];
  let from = 0n;
  for (;;) {
    const read = await log.readFacts({ from, names, ...bounds });
    if (read === null) return { facts, sizes, next: from };
    expect(read.first).toBe(from);
    expect(read.last.sequence).toBeGreaterThanOrEqual(from);
    facts.push(...read.facts);
    sizes.push(read.facts.length);
    from = read.last.sequence + 1n;
  }
};

test("appended facts are read back unchanged, whether inserted or copied", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const kinds = (checkpoint: bigint, many: number) =>
    Array.from({ length: many }, (_, transaction) => [
      fact(checkpoint, transaction),
      // Its index is higher than those of the objects, which come after it all the same.
      fact(checkpoint, transaction, { index: 7 }),
      fact(checkpoint, transaction, { kind: "object", bytes: transaction }),
      fact(checkpoint, transaction, { kind: "removal", index: 1 }),
    ]).flat();
  const few = kinds(0n, 2);
  const many = kinds(1n, 300);

  await log.append(batch(0n, 0n, few), []);
  await log.append(batch(1n, 1n, many), []);

  const { facts } = await readAll(log, NAMES);
  // Versions that were taken in are kept beside them.
  expect([...few, ...many]).toMatchObject(facts);
});

test("an empty checkpoint is progress too", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(batch(0n, 41n), []);

  expect(await log.highWater()).toMatchObject({ nextCheckpoint: 42n, last: mark(41n) });
  expect(await log.readFacts({ from: 7n, names: NAMES, ...all })).toEqual({
    first: 7n,
    last: mark(41n),
    facts: [],
  });
  expect(await log.readFacts({ from: 42n, names: NAMES, ...all })).toBeNull();
});

test("a batch the log does not expect is refused whole, whether old, late or early", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(filled(0n, 9n, 2), []);
  const before = await readAll(log, NAMES);

  for (const refused of [filled(0n, 9n, 2), filled(5n, 20n, 50), filled(11n, 12n, 1)]) {
    await expect(log.append(refused, [])).rejects.toThrow(HighWaterMovedError);
  }
  expect(await readAll(log, NAMES)).toEqual(before);
  expect((await log.highWater()).nextCheckpoint).toBe(10n);
});

test("of two readers that append the same checkpoints one wins and the other stops", async () => {
  await using database = await freshDatabase();
  const one = await openLog(database, identity);
  const other = await openLog(database, identity);

  const results = await Promise.allSettled([
    one.append(filled(0n, 9n, 100), []),
    other.append(filled(0n, 9n, 100), []),
  ]);

  const failures = results.filter((result) => result.status === "rejected");
  expect(failures).toHaveLength(1);
  expect(failures[0]?.reason).toBeInstanceOf(HighWaterMovedError);
  expect((await readAll(one, NAMES)).facts).toHaveLength(1_000);
});

test("an append that fails halfway leaves nothing", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  // The same position twice: the copy meets it after everything else was sent.
  const twice = [...filled(0n, 0n, 500).facts, fact(0n, 499)];

  await expect(log.append(batch(0n, 3n, twice), [])).rejects.toMatchObject({ code: "23505" });

  expect(await log.highWater()).toMatchObject({ nextCheckpoint: 0n, last: null });
  expect(await log.readFacts({ from: 0n, names: NAMES, ...all })).toBeNull();
  const [{ coins } = { coins: -1n }] = await database.sql<{ coins: bigint }[]>`
    select count(*) as coins from log_coins`;
  expect(coins).toBe(0n);
  await log.append(filled(0n, 0n, 500), []);
  expect((await readAll(log, NAMES)).facts).toHaveLength(500);
});

test("a contradictory batch is refused", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const wrong = [
    { ...batch(0n, 1n, [fact(1n)]), marks: [] },
    batch(0n, 1n, [fact(2n)]),
    batch(0n, 1n, [fact(1n), fact(0n)]),
    { ...batch(0n, 1n, [fact(0n), fact(1n)]), marks: [mark(1n), mark(0n)] },
    batch(3n, 2n),
  ];
  for (const refused of wrong) {
    await expect(log.append(refused, [])).rejects.toThrow(InvalidBatchError);
  }
});

test("another chain is refused by name, an unknown one is recorded once", async () => {
  await using database = await freshDatabase();
  await openLog(database, { ...identity, chainId: null });
  await openLog(database, identity);
  await openLog(database, { ...identity, chainId: null });

  const other = openLog(database, { ...identity, chainId: "chain-b" });
  await expect(other).rejects.toThrow(ChainMismatchError);
  await expect(other).rejects.toThrow(/chain-a.*chain-b/);
});

/** Reads, and how many statements it took so far. */
const countedReads = ({ sql }: TestDatabase) => {
  let count = 0;
  const unsafe: Reads["sql"]["unsafe"] = (...statement) => {
    count += 1;
    return sql.unsafe(...statement);
  };
  return { sql: { unsafe }, count: () => count };
};

const [SECOND, THIRD] = [`0x${"6".repeat(64)}`, `0x${"7".repeat(64)}`];

test("another contract is refused, and so is a version that the log has not met", async () => {
  await using database = await freshDatabase();
  await openLog(database, { ...identity, packages: [PACKAGE, SECOND] });

  // The original alone, and a list that begins with it, as databases of former releases hold one.
  await openLog(database, identity);
  await openLog(database, { ...identity, packages: [PACKAGE, SECOND] });

  const other = openLog(database, { ...identity, packages: [SECOND, PACKAGE] });
  await expect(other).rejects.toThrow(PackagesChangedError);
  const late = openLog(database, { ...identity, packages: [PACKAGE, THIRD] });
  await expect(late).rejects.toThrow(UnmetPackagesError);
  await expect(late).rejects.toThrow(`holderbook packages add ${THIRD}`);
});

test("packages join with the facts of their checkpoint, or not at all", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const other = await openLog(database, identity);
  const joined = [
    { address: THIRD, checkpoint: 1n, transaction: 0 },
    { address: SECOND, checkpoint: 1n, transaction: 7 },
  ];
  const facts = [{ ...fact(1n, 7), type: `${SECOND}::timelock::Timelock<${COIN}>` }];
  await log.append({ ...batch(0n, 1n, facts), joined }, []);
  await expect(other.append({ ...batch(0n, 1n), joined }, [])).rejects.toThrow(HighWaterMovedError);

  const packages = [PACKAGE, THIRD, SECOND];
  expect(await factSource(database).highWater()).toMatchObject({ packages, nextCheckpoint: 2n });
  await openLog(database, { ...identity, packages });
  // Facts of its types make securities of their coin types.
  expect(await resolveCoin(database, COIN.toLowerCase())).toMatchObject({ coinType: COIN });
});

test("read-only processes notice a package that joined, with one statement a second", async () => {
  await using database = await freshDatabase();
  const reads = countedReads(database);
  const packages = watchPackages(reads, [THIRD]);
  expect(await packages()).toEqual([THIRD]);
  const log = await openLog(database, identity);
  await log.append(
    { ...batch(0n, 0n), joined: [{ address: SECOND, checkpoint: 0n, transaction: 0 }] },
    [],
  );
  const startedAt = performance.now();
  const isNoticed = async () => (await packages()).includes(SECOND);
  while (!(await isNoticed()) && performance.now() - startedAt < 10_000) await turn();
  expect(await packages()).toEqual([PACKAGE, SECOND]);
  expect(reads.count()).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 900);
});

test("a first checkpoint given later changes nothing", async () => {
  await using database = await freshDatabase();
  await openLog(database, identity);

  const notices: string[] = [];
  const log = await openLog(
    database,
    { ...identity, firstCheckpoint: 99n },
    { onNotice: (notice) => notices.push(notice) },
  );
  expect(log.firstCheckpoint).toBe(0n);
  expect(notices).toEqual([expect.stringContaining("FIRST_CHECKPOINT 99")]);
});

test("a log that was never opened says so", async () => {
  await using database = await freshDatabase();
  await expect(factSource(database).highWater()).rejects.toThrow(LogNotOpenedError);
  expect(await factSource(database).readFacts({ from: 0n, names: NAMES, ...all })).toBeNull();
});

test("reads stay within both bounds and lose nothing", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(filled(0n, 99n, 7), []);
  await log.append(batch(100n, 149n), []);
  const size = factBytes(fact(50n));

  const byFacts = await readAll(log, NAMES, { maxFacts: 20, maxBytes: 1_000_000 });
  expect(byFacts.facts).toEqual(filled(0n, 99n, 7).facts);
  expect(Math.max(...byFacts.sizes)).toBe(14);
  expect(byFacts.next).toBe(150n);

  const byBytes = await readAll(log, NAMES, { maxFacts: 1_000, maxBytes: size * 7 * 4 + 100 });
  expect(byBytes.facts).toEqual(byFacts.facts);
  expect(Math.max(...byBytes.sizes)).toBe(28);
});

test.each([0n, 5n])(
  "checkpoint %s, larger than the bounds, is read whole and alone",
  async (huge) => {
    await using database = await freshDatabase();
    const log = await openLog(database, identity);
    for (let checkpoint = 0n; checkpoint < 10n; checkpoint += 1n) {
      await log.append(filled(checkpoint, checkpoint, checkpoint === huge ? 5_000 : 3), []);
    }

    for (const bounds of [
      { maxFacts: 10, maxBytes: 1_000_000_000 },
      { maxFacts: 1_000_000, maxBytes: 10_000 },
    ]) {
      const { facts, sizes } = await readAll(log, NAMES, bounds);
      expect(facts).toHaveLength(9 * 3 + 5_000);
      expect(sizes.filter((size) => size > 20)).toEqual([5_000]);
    }
  },
);

test("a pipeline with rare facts skips the others in bounded steps", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const rare = fact(900n, 9, { name: "freeze_rule::AddressFrozen" });
  const facts = [...filled(0n, 900n, 3).facts, rare, ...filled(901n, 999n, 3).facts];
  await log.append(batch(0n, 999n, facts), []);

  const read = await readAll(log, [rare.name], { maxFacts: 500, maxBytes: 10_000_000 });
  expect(read.facts).toEqual([rare]);
  expect(read.next).toBe(1_000n);
  expect(read.sizes.length).toBeLessThan(10);
});

test("a read ends where requested", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(batch(0n, 30n, [fact(3n), fact(7n), fact(20n)]), []);

  const upTo = (last: bigint) => log.readFacts({ from: 0n, upTo: last, names: NAMES, ...all });
  expect(await upTo(30n)).toMatchObject({ last: mark(30n) });
  // Only checkpoints with facts, and the newest, have a mark to end at.
  expect(await upTo(10n)).toMatchObject({ last: mark(7n), facts: [fact(3n), fact(7n)] });
  expect(await upTo(2n)).toBeNull();
});

test("the database refuses to change or delete a fact", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  await log.append(filled(0n, 0n, 3), []);

  const attempts = [
    "update log_facts set sender = 'x'",
    "delete from log_facts",
    "truncate log_facts",
    "delete from log_checkpoints",
  ];
  for (const attempt of attempts) {
    await expect(database.sql.unsafe(attempt)).rejects.toThrow("append-only");
  }
  expect((await readAll(log, NAMES)).facts).toHaveLength(3);
});

test("an append notifies the log's channel", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  using ending = abortAtEnd();
  const heard = new Promise<string>((resolve) => {
    database.listen(
      "holderbook_log",
      (payload) => {
        if (payload !== null) return resolve(payload);
        void log.append(filled(0n, 4n, 1), []);
      },
      ending.signal,
    );
  });
  expect(await heard).toBe("5");
});

const abortAtEnd = () => {
  const controller = new AbortController();
  return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() };
};

test("coin types of the contract's facts become known securities, others do not", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const foreign = `0x${"f".repeat(64)}::meme::MEME`;
  const metadata = fact(1n, 1, {
    kind: "object",
    name: "coin::CoinMetadata",
    coinType: foreign,
    type: `0x${"2".padStart(64, "0")}::coin::CoinMetadata<${foreign}>`,
  });
  await log.append(batch(0n, 1n, [fact(0n), metadata]), [{ coinType: foreign, decimals: 9 }]);

  const coins = await database.sql`
    select coin_type, is_security, decimals, decimals_source from log_coins order by coin_type`;
  expect([...coins]).toEqual([
    { coin_type: COIN, is_security: true, decimals: null, decimals_source: null },
    { coin_type: foreign, is_security: false, decimals: 9, decimals_source: "ledger" },
  ]);
});
