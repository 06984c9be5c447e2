import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BEFORE_ROWS, readRows } from "../../src/projections/cap-rows.ts";
import { holderCountsAt } from "../../src/projections/holder-counts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
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
