/** Chains, closure and conservation over an exhaustively read log. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { chainsOf, gapsOf } from "../../src/audit/complete/chains.ts";
import { closureOf, foreignTo } from "../../src/audit/complete/closure.ts";
import { changingTransactions, hidingTransaction } from "../log/damage.ts";
import { randomFrom } from "../seeded-random.ts";
import { type DemoRegister, demoRegister } from "./demo-register.ts";

const CHECKPOINTS = 200;
const THROUGH = BigInt(CHECKPOINTS - 1);
const RANGE = { first: 0n, through: THROUGH };

let register: DemoRegister;
let coins: readonly string[];
beforeAll(async () => {
  register = await demoRegister();
  await register.advance(CHECKPOINTS, 1_000, { appendOnly: true });
  coins = [...register.model.coins.keys()].toSorted();
});
afterAll(() => register[Symbol.asyncDispose]());

test("every object of the demo ledger has all its versions, and the sums agree at every checkpoint", async () => {
  const found = await chainsOf(register.database.sql, RANGE, coins);
  expect(found.map(({ coinType }) => coinType)).toEqual(coins);
  for (const one of found) {
    expect(one).toMatchObject({ treasuries: 1n, gaps: 0n, unfilled: 0n, unequalFrom: null });
    expect(one.held).toBe(one.supply);
    expect(one.supply).toBe(register.model.coins.get(one.coinType)?.supply);
  }
});

test("every transaction of the demo ledger obeys the profile", async () => {
  const found = await closureOf(register.database.sql, THROUGH, coins);
  expect(await foreignTo(register.database.sql, THROUGH, coins, 5)).toEqual([]);
  expect(await gapsOf(register.database.sql, RANGE, coins, 5)).toEqual([]);
  expect(found.map(({ foreign }) => foreign)).toEqual(coins.map(() => 0n));
});

test("a transaction that was not read shows in the next change of each of its objects, by id and version", async () => {
  const { database } = register;
  const all = await changingTransactions(database, coins);
  const random = randomFrom(7);
  const hidden = all.filter(({ changedLater }) => changedLater.length > 0 && random(5) === 0);
  expect(hidden.length).toBeGreaterThan(40);
  for (const one of hidden) {
    const gaps = await hidingTransaction(database, one, (sql) => gapsOf(sql, RANGE, coins, 50));
    const found = gaps.map(({ objectId, version }) => ({ objectId, version: `${version}` }));
    expect(found.toSorted(byId)).toEqual(one.changedLater.toSorted(byId));
  }
});

const byId = (a: { readonly objectId: string }, b: { readonly objectId: string }): number =>
  a.objectId < b.objectId ? -1 : 1;
