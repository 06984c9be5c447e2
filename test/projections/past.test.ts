import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BalanceChange, balanceChanges } from "../../src/projections/balance-changes.ts";
import { tokenBalance } from "../../src/projections/balances.ts";
import { walletRoles } from "../../src/projections/roles.ts";
import { tokenObjects } from "../../src/projections/shared-token-objects.ts";
import { tokenTimelocks } from "../../src/projections/timelock-objects.ts";
import { batchOf, PACKAGE } from "../pipelines/token-facts.ts";
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
const packages = [PACKAGE];
const limit = 1_000;

const sum = (changes: readonly BalanceChange[]) =>
  changes.reduce((total, { change }) => total + change, 0n);

test("after any history in any batches, every past checkpoint is served as it was then", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      for (let at = 0n; at < BigInt(checkpoints.length); at += 1n) {
        const model = modelOf(batchOf(checkpoints.slice(0, Number(at) + 1)).facts);
        for (const coinType of COINS) {
          for (const owner of OWNERS) {
            expect(await tokenBalance(db, { coinType, owner, at })).toEqual(
              model.balance(coinType, owner, true),
            );
            expect(await tokenObjects(db, { coinType, owner, limit, at })).toEqual(
              model.tokens(coinType, owner),
            );
            expect(await tokenTimelocks(db, { coinType, owner, limit, at })).toMatchObject(
              model.grantIds(coinType, owner),
            );
          }
          expect(await tokenTimelocks(db, { coinType, limit, at })).toMatchObject(
            model.grantIds(coinType),
          );
          expect(await walletRoles(db, { coinType, packages, at })).toEqual(
            model.walletRoles(coinType, packages),
          );
        }
      }
    }),
    8,
  );
});

test("the movements of an owner add up to every balance it had, and each shows the balance after it", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      for (const coinType of COINS) {
        const all = await balanceChanges(db, { coinType, limit, order: "asc" });
        for (let at = 0n; at < BigInt(checkpoints.length); at += 1n) {
          const model = modelOf(batchOf(checkpoints.slice(0, Number(at) + 1)).facts);
          for (const owner of OWNERS) {
            const until = all.filter((one) => one.owner === owner && one.checkpoint <= at);
            const { balance, timelockBalance } = model.balance(coinType, owner, true);
            const grants = until.filter(({ part }) => part === "GRANTS");
            const tokens = until.filter(({ part }) => part === "TOKENS");
            expect(sum(grants)).toBe(timelockBalance);
            expect(sum(tokens)).toBe(balance - timelockBalance);
            expect(grants.at(-1)?.balanceAfter ?? 0n).toBe(timelockBalance);
            expect(tokens.at(-1)?.balanceAfter ?? 0n).toBe(balance - timelockBalance);
          }
        }
        for (const owner of OWNERS) {
          expect(await balanceChanges(db, { coinType, owner, limit, order: "asc" })).toEqual(
            all.filter((one) => one.owner === owner),
          );
        }
        for (const order of ["asc", "desc"] as const) {
          const inOrder = order === "asc" ? all : all.toReversed();
          const paged: BalanceChange[] = [];
          for (;;) {
            const after = paged.at(-1);
            const page = await balanceChanges(db, { coinType, limit: 3, order, after });
            if (page.length === 0) break;
            paged.push(...page);
          }
          expect(paged).toEqual(inOrder);
        }
      }
    }),
    8,
  );
});

test("lists are paged after the last row read, now and in the past", async () => {
  const { db } = database;
  await search(
    fc.asyncProperty(history, five, async (checkpoints, batchings) => {
      await project(database, checkpoints, batchings);
      const middle = BigInt(Math.floor(checkpoints.length / 2));
      for (const at of [undefined, middle]) {
        for (const coinType of COINS) {
          const grants = await tokenTimelocks(db, { coinType, limit, at });
          for (const [index, after] of grants.entries()) {
            expect(await tokenTimelocks(db, { coinType, limit: 2, at, after })).toEqual(
              grants.slice(index + 1, index + 3),
            );
          }
          for (const owner of OWNERS) {
            const tokens = await tokenObjects(db, { coinType, owner, limit, at });
            for (const [index, { objectId: after }] of tokens.entries()) {
              expect(await tokenObjects(db, { coinType, owner, limit: 2, at, after })).toEqual(
                tokens.slice(index + 1, index + 3),
              );
            }
          }
        }
      }
    }),
    5,
  );
});
