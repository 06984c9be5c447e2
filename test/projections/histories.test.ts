import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tokenBalance, tokenHolders } from "../../src/projections/balances.ts";
import { holderEvents } from "../../src/projections/holder-events.ts";
import { roleEvents, walletRoles } from "../../src/projections/roles.ts";
import { tokenObjects } from "../../src/projections/shared-token-objects.ts";
import { tokenTimelocks } from "../../src/projections/timelock-objects.ts";
import { tokenActivity } from "../../src/projections/token-activity.ts";
import { batchOf, PACKAGE, type SaidCheckpoint, token } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { modelOf } from "./plain-model.ts";
import { project } from "./project.ts";
import { projectedRows } from "./projected-rows.ts";
import { COINS, cuts, history, OWNERS } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);
const packages = [PACKAGE];
const limit = 1_000;

test("after any history in any batches, every read agrees with a plain model", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      const model = modelOf(batchOf(checkpoints).facts);

      for (const coinType of COINS) {
        for (const owner of OWNERS) {
          expect(await tokenBalance(db, { coinType, owner })).toEqual(
            model.balance(coinType, owner, true),
          );
          expect(await tokenObjects(db, { coinType, owner, limit })).toEqual(
            model.tokens(coinType, owner),
          );
          expect(await tokenTimelocks(db, { coinType, owner, limit })).toMatchObject(
            model.grantIds(coinType, owner),
          );
        }
        expect(await tokenHolders(db, { coinType, limit })).toEqual(
          model.holders(coinType, OWNERS, true),
        );
        expect(await tokenTimelocks(db, { coinType, limit })).toMatchObject(
          model.grantIds(coinType),
        );
        const forward = await tokenActivity(db, { coinType, limit, offset: 0, order: "asc" });
        expect(forward).toEqual(model.activity(coinType));
        expect(await tokenActivity(db, { coinType, limit, offset: 0, order: "desc" })).toEqual(
          forward.toReversed(),
        );
        expect(await walletRoles(db, { coinType, packages })).toEqual(
          model.walletRoles(coinType, packages),
        );
        for (const sinceTimestamp of [0n, 1_700_000_001n, 1_700_000_004n]) {
          const range = { coinType, sinceTimestamp, limit };
          expect(await holderEvents(db, range)).toEqual(model.register(coinType, sinceTimestamp));
          expect(await roleEvents(db, { ...range, packages })).toEqual(
            model.roleEvents(coinType, sinceTimestamp, packages),
          );
        }
      }
    }),
    15,
  );
});

test("rows are independent of batches, byte for byte", async () => {
  await search(
    fc.asyncProperty(history, five, five, async (checkpoints, some, others) => {
      await project(database, checkpoints, some);
      const rows = await projectedRows(database);
      await project(database, checkpoints, others);
      expect(await projectedRows(database)).toEqual(rows);
    }),
    10,
  );
});

test("a large batch writes the rows that small ones write", async () => {
  const written = (sequence: bigint): SaidCheckpoint => ({
    sequence,
    transactions: [
      Array.from({ length: 150 }, (_, n) => {
        const id = `0x${((Number(sequence) * 97 + n) % 400).toString(16).padStart(64, "0")}`;
        const owner = OWNERS[(n + Number(sequence)) % OWNERS.length] ?? "";
        return token({ id, owner, balance: BigInt(n) }, COINS[0]);
      }),
    ],
  });
  const checkpoints = Array.from({ length: 8 }, (_, sequence) => written(BigInt(sequence)));
  const one = checkpoints.map(() => false);
  const each = checkpoints.map(() => true);
  await project(database, checkpoints, [one, one, one, one, one]);
  const rows = await projectedRows(database);
  expect(rows.shared_token_objects).toHaveLength(400);
  await project(database, checkpoints, [each, each, each, each, each]);
  expect(await projectedRows(database)).toEqual(rows);
});
