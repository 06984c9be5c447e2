/** Transactions and wallets are found by their indexes, whatever else the tables hold. */
import { expect, test } from "vitest";
import type { Reads } from "../../src/database/readers.ts";
import { holderCountsAt } from "../../src/projections/holder-counts.ts";
import { walletsWith } from "../../src/projections/search.ts";
import { transactionsWithin } from "../../src/projections/transactions.ts";
import { coinsOfWallet } from "../../src/projections/wallet-states.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

/** Rows of a table that a read looked at, all by an index. */
const rowsRead = async (
  database: TestDatabase,
  table: string,
  read: (on: Reads) => Promise<unknown>,
): Promise<number> => {
  const nodes = await plannedNodes(database, read);
  const reading = nodes.filter(({ relation }) => relation === table);
  expect(reading.map(({ type }) => type.replace("Only ", ""))).toContain("Index Scan");
  return reading.reduce((sum, { rows, filtered }) => sum + rows + filtered, 0);
};

test("a digest, or its beginning, is a range of an index", async () => {
  await using database = await freshDatabase();
  await database.sql`
    insert into token_activity
    select 'coin', n, 'mint', md5(n::text), 0, 1, null, 'to', 'signer', 'object'
    from generate_series(1, 4000) as n`;
  await database.sql`analyze token_activity`;
  const read = (on: Reads) => transactionsWithin(on, { from: "c4", before: "c4~", limit: 10 });
  expect(await read(database.db)).toHaveLength(10);
  expect(await rowsRead(database, "token_activity", read)).toBeLessThan(20);
});

test("the coins of a wallet are one row of an index each, however often its balance began", async () => {
  await using database = await freshDatabase();
  await database.sql`
    insert into token_changes
    select 'coin' || n % 3, 'wallet', n * 1000000000::int8, 'MINT', n % 2 * 2 - 1, n % 2, 'd', 0
    from generate_series(1, 6000) as n`;
  await database.sql`analyze token_changes`;
  const read = (on: Reads) => coinsOfWallet(on, { address: "wallet", limit: 10 });
  expect(await read(database.db)).toEqual(["coin0", "coin1", "coin2"]);
  expect(await rowsRead(database, "token_changes", read)).toBeLessThan(20);
});

test("a shortened wallet is found among all that begin alike, however many they are", async () => {
  await using database = await freshDatabase();
  await database.sql`
    insert into membership_ranges
    select 'coin', '0x4347' || md5(n::text) || to_hex(65536 + n), 'holder', n, 1, 9223372036854775807
    from generate_series(1, 4000) as n`;
  await database.sql`analyze membership_ranges`;
  const read = (on: Reads) => walletsWith(on, { from: "0x4347", tail: "0f00" }, 10);
  expect(await read(database.db)).toEqual([expect.stringMatching(/^0x4347.*0f00$/)]);
  expect(await rowsRead(database, "membership_ranges", read)).toBeLessThan(5);
});

test("counts over time pass over each wallet a few times, also by a plan from when there were none", async () => {
  await using database = await freshDatabase();
  const wallets = 2_000;
  const give = async (from: number, to: number) => {
    await database.sql`
      insert into token_changes
      select 'coin', 'wallet' || n, n * 1000000000::int8, 'MINT', 1, 1, 'd', 0
      from generate_series(${from}::int, ${to}::int) as n`;
    await database.sql`
      insert into membership_ranges
      select 'coin', 'wallet' || n, 'holder', n, n, 9223372036854775807
      from generate_series(${from}::int, ${to}::int) as n`;
  };
  await give(1, 1);
  await database.sql`analyze token_changes, grant_changes, membership_ranges`;
  const read = (on: Reads) => holderCountsAt(on, "coin", [1n, BigInt(wallets)]);
  const nodes = await plannedNodes(database, read, () => give(2, wallets));
  const most = Math.max(...nodes.map(({ rows, filtered }) => rows + filtered));
  expect(most).toBeLessThanOrEqual(5 * wallets);
  expect(await read(database.db)).toEqual([
    { holders: 1, owners: 1 },
    { holders: wallets, owners: wallets },
  ]);
});
