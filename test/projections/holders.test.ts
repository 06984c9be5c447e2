import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type HolderPlace, tokenBalance, tokenHolders } from "../../src/projections/balances.ts";
import { tokenTimelocks } from "../../src/projections/timelock-objects.ts";
import { ACME, address, BETA } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.sql`
    truncate balances, shared_token_objects_watermark, timelock_objects_watermark`;
});

type Row = { readonly owner: string; readonly tokens: bigint; readonly grants: bigint };

const hold = async (rows: readonly Row[], coinType = ACME) => {
  for (const { owner, tokens, grants } of rows) {
    await database.sql`
      insert into balances
        (coin_type, owner, token_balance, token_count, grant_balance, grant_count)
      values (${coinType}, ${owner}, ${tokens.toString()}::numeric, 1, ${grants.toString()}::numeric, 1)`;
  }
};

/** Puts the two watermarks this far apart. */
const grantsBehindBy = async (checkpoints: bigint) => {
  await database.sql`
    insert into shared_token_objects_watermark (pipeline, next_checkpoint)
    values ('shared_token_objects', 5000)`;
  await database.sql`
    insert into timelock_objects_watermark (pipeline, next_checkpoint)
    values ('timelock_objects', ${5000n - checkpoints})`;
};

const [A, B, C, D] = ["a", "b", "c", "d"].map(address);
if (A === undefined || B === undefined || C === undefined || D === undefined) throw new Error();

test("holders are listed largest first by their total, equal ones by owner, empty ones not at all", async () => {
  await hold([
    { owner: C, tokens: 5n, grants: 5n },
    { owner: A, tokens: 9n, grants: 1n },
    { owner: B, tokens: 0n, grants: 11n },
    { owner: D, tokens: 0n, grants: 0n },
  ]);
  await hold([{ owner: D, tokens: 100n, grants: 0n }], BETA);
  const rows = await tokenHolders(database.db, { coinType: ACME, limit: 10 });
  expect(rows).toEqual([
    { owner: B, balance: 11n, timelockBalance: 11n, timelocksIncluded: true },
    { owner: A, balance: 10n, timelockBalance: 1n, timelocksIncluded: true },
    { owner: C, balance: 10n, timelockBalance: 5n, timelocksIncluded: true },
  ]);
});

test("numbers are compared as numbers: 10 comes before 9, and sums go beyond 64 bits", async () => {
  const most = 2n ** 64n - 1n;
  await hold([
    { owner: A, tokens: 9n, grants: 0n },
    { owner: B, tokens: 10n, grants: 0n },
    { owner: C, tokens: most * 5n, grants: most },
  ]);
  const rows = await tokenHolders(database.db, { coinType: ACME, limit: 10 });
  expect(rows.map(({ owner, balance }) => [owner, balance])).toEqual([
    [C, most * 6n],
    [B, 10n],
    [A, 9n],
  ]);
});

test("at 1000 checkpoints behind grants still count; at 1001 they are left out and order is by tokens", async () => {
  await hold([
    { owner: A, tokens: 1n, grants: 100n },
    { owner: B, tokens: 2n, grants: 0n },
    { owner: C, tokens: 0n, grants: 50n },
  ]);
  await grantsBehindBy(1000n);
  expect((await tokenHolders(database.db, { coinType: ACME, limit: 10 }))[0]).toEqual({
    owner: A,
    balance: 101n,
    timelockBalance: 100n,
    timelocksIncluded: true,
  });
  expect(await tokenTimelocks(database.db, { coinType: ACME, limit: 10 })).toEqual([]);

  await database.sql`update timelock_objects_watermark set next_checkpoint = next_checkpoint - 1`;
  expect(await tokenHolders(database.db, { coinType: ACME, limit: 10 })).toEqual([
    { owner: B, balance: 2n, timelockBalance: 0n, timelocksIncluded: false },
    { owner: A, balance: 1n, timelockBalance: 0n, timelocksIncluded: false },
  ]);
  expect(await tokenBalance(database.db, { coinType: ACME, owner: A })).toEqual({
    owner: A,
    balance: 1n,
    objectCount: 1,
    timelockBalance: 0n,
    timelockCount: 0,
    timelocksIncluded: false,
  });
  await expect(tokenTimelocks(database.db, { coinType: ACME, limit: 10 })).rejects.toThrow(
    "more than 1000 checkpoints behind",
  );
});

test("a grant index that has never run lags by the token index's whole progress", async () => {
  await hold([{ owner: A, tokens: 1n, grants: 1n }]);
  const included = async () =>
    (await tokenBalance(database.db, { coinType: ACME, owner: A })).timelocksIncluded;
  await database.sql`
    insert into shared_token_objects_watermark (pipeline, next_checkpoint)
    values ('shared_token_objects', 1000)`;
  expect(await included()).toBe(true);
  await database.sql`update shared_token_objects_watermark set next_checkpoint = 1001`;
  expect(await included()).toBe(false);
});

test("an unknown owner or coin type holds nothing", async () => {
  expect(await tokenBalance(database.db, { coinType: "0x1::no::NO", owner: A })).toEqual({
    owner: A,
    balance: 0n,
    objectCount: 0,
    timelockBalance: 0n,
    timelockCount: 0,
    timelocksIncluded: true,
  });
  expect(await tokenHolders(database.db, { coinType: "0x1::no::NO", limit: 10 })).toEqual([]);
});

test("pages follow one another without gaps or repeats, among equal balances too", async () => {
  const holding = fc.record({
    tokens: fc.bigInt({ min: 0n, max: 3n }),
    grants: fc.bigInt({ min: 0n, max: 2n }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(holding, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (holdings, limit, behind) => {
        await database.sql`
          truncate balances, shared_token_objects_watermark, timelock_objects_watermark`;
        await hold(holdings.map((row, n) => ({ owner: address(n.toString(16)), ...row })));
        await grantsBehindBy(behind ? 2000n : 0n);
        const all = await tokenHolders(database.db, { coinType: ACME, limit: 100 });

        const paged: typeof all = [];
        let after: HolderPlace | undefined;
        for (;;) {
          const page = await tokenHolders(database.db, { coinType: ACME, limit, after });
          paged.push(...page);
          after = page.at(-1);
          if (page.length < limit) break;
        }
        expect(paged).toEqual(all);
      },
    ),
    { numRuns: 25 },
  );
});

test("a page of holders reads as many index entries as it has rows, among a hundred thousand", async () => {
  await database.sql`
    insert into balances (coin_type, owner, token_balance, token_count, grant_balance, grant_count)
    select ${ACME}, '0x' || lpad(to_hex(n), 64, '0'), (n * 7919) % 1000, 1, n % 50, 1
    from generate_series(1, 100000) n`;
  await database.sql`analyze balances`;
  const deep = { balance: 500n, owner: address("c") };

  for (const behind of [0n, 2000n]) {
    await database.sql`truncate shared_token_objects_watermark, timelock_objects_watermark`;
    await grantsBehindBy(behind);
    for (const after of [undefined, deep]) {
      const nodes = await plannedNodes(database, (db) =>
        tokenHolders(db, { coinType: ACME, limit: 50, after }),
      );
      expect(nodes.map(({ type }) => type)).not.toContain("Sort");
      const reading = nodes.filter(({ relation }) => relation === "balances");
      expect(reading.map(({ type }) => type)).toEqual(["Index Scan", "Index Scan"]);
      // One of the two lists is not even begun.
      expect(reading.map(({ rows }) => rows).sort()).toEqual([0, 50]);
      // What comes before the page is not passed over.
      expect(reading.map(({ filtered }) => filtered)).toEqual([0, 0]);
    }
  }
});
