/** What an append hashes, held against what Postgres hashes of the rows that it stored. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Database } from "../../src/database/connect.ts";
import { completeChains } from "../../src/log/chain.ts";
import { checkStretch, gapFault } from "../../src/log/check-chain.ts";
import type { ReadFact } from "../../src/log/fact.ts";
import { openLog } from "../../src/log/log.ts";
import { freshDatabase } from "../postgres.ts";
import { alterLog, forgetChain } from "./damage.ts";
import { batch, COIN, fact, PACKAGE } from "./facts.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** All rows of all chains. */
const chainsOf = async ({ sql }: Database) => ({
  facts: await sql`select * from log_chain order by checkpoint`,
  coins: await sql`select * from log_coin_chain order by coin_type, checkpoint`,
  blocks: await sql`select * from log_block_chain order by first_checkpoint`,
});

// Postgres stores no NUL; half a pair of surrogates is no text, and a whole one has two lengths.
const text = fc
  .string({ unit: "binary", maxLength: 30 })
  .map((value) => value.replace(/[\0\u{10000}-\u{10ffff}\ud800-\udfff]/gu, "\u20ac"));
const bytes = fc.uint8Array({ maxLength: 300 });
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const COINS = [COIN, `${COIN}2`, "u64", null, `0x1::long::${"L".repeat(1_100)}`];

const drawn = fc.record({
  kind: fc.constantFrom("event", "object", "removal"),
  type: text,
  name: text,
  txDigest: text,
  sender: text,
  objectId: text,
  coinType: fc.oneof(fc.constantFrom(...COINS), text),
  contents: bytes,
  version: fc.oneof(u64, fc.constant(2n ** 64n - 1n)),
  versionBefore: fc.oneof(u64, fc.constant(null)),
  gap: fc.integer({ min: 0, max: 2 }),
});

/** Facts in order, as drawn: some of the same checkpoint, some further on. */
const factsOf = (
  draws: readonly (typeof drawn extends fc.Arbitrary<infer T> ? T : never)[],
): ReadFact[] => {
  let checkpoint = 0n;
  return draws.map(({ gap, kind, objectId, version, versionBefore, contents, ...given }, n) => {
    checkpoint += BigInt(gap);
    const common = { ...fact(checkpoint, n), ...given, index: n };
    if (kind === "event") return { ...common, kind: "event", contents };
    const object = { objectId, version };
    if (kind === "object") return { ...common, ...object, kind: "object", versionBefore, contents };
    const { contents: _, ...rest } = { ...common, contents };
    return { ...rest, ...object, kind: "removal" };
  });
};

test("appends and Postgres compute the same hashes, for any facts", async () => {
  await using database = await freshDatabase();
  await fc.assert(
    fc.asyncProperty(
      fc.array(drawn, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 60 }),
      async (draws, cut) => {
        await alterLog(
          database,
          "truncate log_facts, log_checkpoints, log_blocks, log_high_water, log_chain, log_coin_chain, log_block_chain, log_inputs, log_input_chain",
        );
        const facts = factsOf(draws);
        const last = facts.at(-1)?.checkpoint ?? 0n;
        // Two appends, of which one may be small and the other copied.
        const middle = facts[cut]?.checkpoint ?? last;
        const log = await openLog(database, identity);
        const before = facts.filter(({ checkpoint }) => checkpoint <= middle);
        await log.append(batch(0n, middle, before), []);
        if (middle < last) {
          await log.append(batch(middle + 1n, last, facts.slice(before.length)), []);
        }
        expect(await gapFault(database.sql)).toBeNull();
        expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null });
        const written = await chainsOf(database);
        await forgetChain(database);
        await completeChains(database);
        expect(await chainsOf(database)).toEqual(written);
      },
    ),
    { numRuns: 30 },
  );
});

test("a log that ends, grows and is reopened has one chain per coin type", async () => {
  await using database = await freshDatabase();
  const other = `${COIN}2`;
  const facts = [
    fact(1n, 0),
    fact(1n, 1, { coinType: other }),
    fact(4n, 0, { coinType: other }),
    fact(4n, 1),
    fact(4n, 2, { kind: "object" }),
  ];
  const first = await openLog(database, identity);
  await first.append(batch(0n, 2n, facts.slice(0, 2)), []);
  const second = await openLog(database, identity);
  await second.append(batch(3n, 4n, facts.slice(2)), []);
  // It remembers other ends than the log has: nothing is written.
  await expect(first.append(batch(3n, 4n, facts.slice(2)), [])).rejects.toThrow(/no longer at/);
  const { sql } = database;
  const coins = await sql`
    select coin_type, checkpoint, facts from log_coin_chain order by coin_type, checkpoint`;
  expect(coins.map((row) => Object.values(row))).toEqual([
    [COIN, 1n, 1n],
    [COIN, 4n, 3n],
    [other, 1n, 1n],
    [other, 4n, 2n],
  ]);
  expect(await checkStretch(sql, -1n)).toMatchObject({ fault: null, ended: true });
});

test("a small append is a single statement, with its links in all chains", async () => {
  await using database = await freshDatabase();
  await using session = await database.session();
  const log = await openLog(database, identity);
  await log.append(batch(0n, 0n, [fact(0n)]), [], session);
  let statements = 0;
  const counted: typeof session = {
    ...session,
    statement: (work) => {
      statements += 1;
      return session.statement(work);
    },
    transaction: (work) => {
      statements += 100;
      return session.transaction(work);
    },
  };
  await log.append(batch(1n, 1n, [fact(1n), fact(1n, 1)]), [], counted);
  await log.append(batch(2n, 2n), [], counted);
  expect(statements).toBe(2);
  expect(await gapFault(database.sql)).toBeNull();
});
