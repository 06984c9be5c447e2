import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BEFORE_ROWS, readRows } from "../../src/projections/cap-rows.ts";
import { holderCountsAt } from "../../src/projections/holder-counts.ts";
import { ACME, address } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
import { plannedNodes } from "./query-plan.ts";
import { COINS, cuts, history } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);

test("the counts at any checkpoints are those of the cap table at each", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, fc.integer({ min: 1, max: 4 }), async (said, cut, step) => {
      await project(database, said, cut);
      const checkpoints = said
        .map(({ sequence }) => sequence)
        .filter((sequence) => sequence % BigInt(step) === 0n);
      for (const coinType of COINS) {
        const expected = [];
        for (const checkpoint of checkpoints) {
          const at = { checkpoint, timestampMs: 0n };
          const rows = await readRows(db, coinType, at, BEFORE_ROWS, 99);
          const wallets = rows.flatMap((row) => row.wallets);
          const owners = wallets.filter(({ balance }) => balance > 0n).length;
          expected.push({ holders: rows.length, owners });
        }
        expect(await holderCountsAt(db, coinType, checkpoints)).toEqual(expected);
      }
    }),
    12,
  );
});

test("movements between the beginning and the end of a wallet's balance are not read", async () => {
  await using many = await freshDatabase();
  for (const table of ["token_changes", "grant_changes"]) {
    // Two wallets: one begins and goes on, one begins and ends.
    await many.sql.unsafe(`
      insert into ${table} (coin_type, owner, position, cause, change, balance_after, tx_digest, timestamp_ms)
      select '${ACME}', owner, n::int8 * 1000000000, 'TRANSFER', 1, case when n = ends then 0 else n end, 'x', n
      from (values ('${address("a")}', 0), ('${address("b")}', 20000)) as wallets (owner, ends), generate_series(1, 20000) n`);
  }
  await many.sql`analyze`;
  const checkpoints = [1n, 19_999n, 20_000n];
  expect(await holderCountsAt(many.db, ACME, checkpoints)).toEqual([
    { holders: 2, owners: 2 },
    { holders: 2, owners: 2 },
    { holders: 1, owners: 1 },
  ]);
  const nodes = await plannedNodes(many, (on) => holderCountsAt(on, ACME, checkpoints));
  const reading = nodes.filter(({ relation }) => /_changes$/.test(relation ?? ""));
  expect(reading.reduce((sum, { rows, filtered }) => sum + rows + filtered, 0)).toBe(6);
});
