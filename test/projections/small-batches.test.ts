import { expect, test } from "vitest";
import { appendHolderEvents } from "../../src/projections/holder-events.ts";
import { foldRoleEvents } from "../../src/projections/roles.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import { ACME, address } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const ROWS = 20_000;

/** Rows that Postgres has read of a table so far, by whole scans and by index. */
const rowsRead = async ({ sql }: TestDatabase, table: string) => {
  const [row] = await sql<{ whole: bigint; indexed: bigint }[]>`
    select seq_tup_read as whole, coalesce(idx_tup_fetch, 0) + coalesce((
      select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid
    ), 0)::int8 as indexed
    from pg_stat_user_tables t where relname = ${table}`;
  return { whole: Number(row?.whole ?? 0), indexed: Number(row?.indexed ?? 0) };
};

/** Rows read of a table by `work`, which runs in a connection whose counters are flushed afterwards. */
const readBy = async (
  database: TestDatabase,
  table: string,
  work: (tx: Parameters<Parameters<TestDatabase["transaction"]>[0]>[0]) => Promise<void>,
) => {
  const before = await rowsRead(database, table);
  await database.transaction(work);
  await database.transaction(async ({ sql }) => {
    await sql`select pg_stat_force_next_flush()`;
  });
  const after = await rowsRead(database, table);
  return { whole: after.whole - before.whole, indexed: after.indexed - before.indexed };
};

const owner = (n: number) => address((n % 5_000).toString(16).padStart(4, "0"));

const granted = (first: number, count: number, grant: boolean, from = 0) =>
  Array.from({ length: count }, (_, n) => ({
    coinType: ACME,
    position: BigInt(first + n),
    txDigest: "digest",
    owner: address((from + n).toString(16)),
    role: "role",
    granted: grant,
    signer: address("1"),
    timestampMs: BigInt(first + n),
  }));

test("few revocations and removals look at few rows, and thousands take no square of their number", async () => {
  await using database = await freshDatabase();
  const roles = (rows: ReturnType<typeof granted>) =>
    readBy(database, "wallet_roles", (tx) => foldRoleEvents(tx, rows));
  const remove = (table: string, first: number, count: number) =>
    readBy(database, table, (tx) =>
      foldSharedTokens(
        tx,
        Array.from({ length: count }, (_, n) => ({ objectId: objectOf(first + n), state: null })),
      ),
    );
  const add = (first: number, count: number) =>
    database.transaction((tx) =>
      foldSharedTokens(
        tx,
        Array.from({ length: count }, (_, n) => ({
          objectId: objectOf(first + n),
          state: {
            coinType: ACME,
            owner: objectOf(first + n),
            balance: 7n,
            version: 1n,
            checkpoint: 1n,
          },
        })),
      ),
    );
  for (let n = 0; n < 8; n += 1) {
    await roles(granted(n, 1, true, n));
    await add(n, 1);
  }
  await database.sql`vacuum analyze`;
  for (let n = 0; n < 8; n += 1) {
    await roles(granted(10 + n, 1, n % 2 === 0, n));
    await remove("balances", n, 1);
  }
  await roles(granted(100, ROWS, true));
  await add(1_000, ROWS);
  const revoked = await roles(granted(50_000, 2, false, 500));
  expect(revoked.whole + revoked.indexed, "of roles").toBeLessThan(50);
  for (const table of ["balances", "shared_token_objects"]) {
    const left = await remove(table, table === "balances" ? 2_000 : 3_000, 2);
    expect(left.whole + left.indexed, `of ${table}`).toBeLessThan(50);
  }
  const many = await roles(granted(60_000, 8_000, false, 1_000));
  expect(many.whole + many.indexed, "of roles, for thousands").toBeLessThan(10 * ROWS);
});

const objectOf = (n: number) => address(n.toString(16).padStart(6, "0"));

test("a batch of a few rows reads a few rows, also with a plan that was made on empty tables", async () => {
  await using database = await freshDatabase();
  const fold = (first: number, count: number) =>
    readBy(database, "shared_token_objects", (tx) =>
      foldSharedTokens(
        tx,
        Array.from({ length: count }, (_, n) => ({
          objectId: address((first + n).toString(16).padStart(6, "0")),
          state: {
            coinType: ACME,
            owner: owner(first + n),
            balance: 7n,
            version: 1n,
            checkpoint: 1n,
          },
        })),
      ),
    );
  const append = (first: number, count: number) =>
    readBy(database, "holder_events", (tx) =>
      appendHolderEvents(
        tx,
        Array.from({ length: count }, (_, n) => ({
          coinType: ACME,
          position: BigInt(first + n),
          eventType: "holder_added" as const,
          txDigest: "digest",
          holderId: 7n,
          address: owner(first + n),
          groupId: null,
          isFrozen: null,
          timestampMs: BigInt(first + n),
        })),
      ),
    );
  // As a service that begins at genesis: the plan is made when all that is known of the tables is that
  // they are a page each.
  const foldAFew = async (first: number) => {
    for (let n = 0; n < 8; n += 1) {
      await fold(first + n, 1);
      await append(first + n, 1);
    }
  };
  await foldAFew(0);
  await database.sql`vacuum analyze`;
  await foldAFew(20);
  await fold(1_000, ROWS);
  await append(1_000, ROWS);
  for (const first of [30_000, 2_000]) {
    const folded = await fold(first, 3);
    expect(folded.whole, "of all objects").toBeLessThan(10);
    expect(folded.indexed, "of objects by index").toBeLessThan(50);
  }
  const appended = await append(100_000, 3);
  expect(appended.whole, "of all events").toBeLessThan(10);
  expect(appended.indexed, "of events by index").toBeLessThan(50);
});
