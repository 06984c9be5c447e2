import { afterAll, beforeAll, expect, test } from "vitest";
import {
  sharedTokenObjectsWatermark,
  timelockObjectsWatermark,
} from "../../src/projections/balance-progress.ts";
import { type Api, startApi } from "./api.ts";
import {
  ACME,
  ALICE,
  address,
  BOB,
  CAROL,
  grant,
  knowCoin,
  setGrants,
  setTokens,
  setWatermark,
  setWatermarks,
} from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  const { database } = api;
  await setWatermarks(database, 5000n);
  await setTokens(database, [
    { id: "01", owner: ALICE, balance: 30n },
    { id: "02", owner: ALICE, balance: 12n },
    { id: "03", owner: BOB, balance: 642n },
    // An object that holds nothing still stands; its owner is no holder.
    { id: "04", owner: CAROL, balance: 0n },
  ]);
  await setGrants(database, [
    { id: "11", state: grant(ALICE, { commencementTimestampMs: 2n }) },
    { id: "12", state: grant(BOB, { commencementTimestampMs: 1n, leftBalance: 1n }) },
    { id: "13", state: grant(CAROL, { leftBalance: 0n }) },
  ]);
});
afterAll(() => api[Symbol.asyncDispose]());

const BALANCE = `query ($coin: String!, $owner: String!) {
  tokenBalance(coinType: $coin, owner: $owner) {
    owner balance objectCount timelockBalance timelockCount timelocksIncluded decimals
  }
}`;

const HOLDERS = `query ($coin: String!, $limit: Int, $after: String) {
  tokenHolders(coinType: $coin, limit: $limit, after: $after) {
    owner balance timelockBalance timelocksIncluded
  }
}`;

const GRANTS = `query ($coin: String!, $owner: String, $limit: Int) {
  tokenTimelocks(coinType: $coin, owner: $owner, limit: $limit) { objectId owner leftBalance }
}`;

/** Holders as `owner: balance`. */
const holders = async (variables: Record<string, unknown> = {}): Promise<string[]> => {
  const { data, text } = await api.query(HOLDERS, { coin: ACME, ...variables });
  const rows = data?.tokenHolders;
  if (!Array.isArray(rows)) throw new Error(text);
  return rows.map(({ owner, balance }) => `${balance}:${owner}`);
};

test("a balance is tokens plus the remainder of grants; decimals are null until known", async () => {
  const ask = async () => (await api.query(BALANCE, { coin: ACME, owner: ALICE })).data;
  const balance = {
    owner: ALICE,
    balance: "642",
    objectCount: 2,
    timelockBalance: "600",
    timelockCount: 1,
    timelocksIncluded: true,
  };
  expect(await ask()).toEqual({ tokenBalance: { ...balance, decimals: null } });
  await knowCoin(api.database, ACME, 9);
  expect(await ask()).toEqual({ tokenBalance: { ...balance, decimals: 9 } });
});

test("owners are found in short form and any letter case", async () => {
  for (const owner of ["0xA11CE", "0Xa11ce", "0x0a11CE", ALICE.toUpperCase()]) {
    const { data } = await api.query(BALANCE, { coin: "0xACCE::acme::ACME", owner });
    expect(data?.tokenBalance).toMatchObject({ owner: ALICE, balance: "642" });
  }
});

test("an unknown owner or coin type holds zero", async () => {
  const nothing = { balance: "0", objectCount: 0, timelockBalance: "0", timelockCount: 0 };
  const stranger = await api.query(BALANCE, { coin: ACME, owner: "0x5" });
  expect(stranger.data?.tokenBalance).toMatchObject({ ...nothing, owner: address("5") });
  const coin = await api.query(BALANCE, { coin: "0x1::none::NONE", owner: ALICE });
  expect(coin.data?.tokenBalance).toMatchObject({ ...nothing, decimals: null });
});

test("holders are sorted by balance, then by owner; owners with zero are left out", async () => {
  // ALICE 42 + 600, BOB 642 + 1, CAROL 0 + 0.
  expect(await holders()).toEqual([`643:${BOB}`, `642:${ALICE}`]);
  const { data } = await api.query(HOLDERS, { coin: ACME, limit: 1 });
  expect(data?.tokenHolders).toEqual([
    { owner: BOB, balance: "643", timelockBalance: "1", timelocksIncluded: true },
  ]);
});

test("a page of holders continues after the last one read", async () => {
  const coin = `${address("9a9e")}::page::PAGE`;
  // Balances repeat, so that pages end inside a tie.
  const objects = Array.from({ length: 23 }, (_, i) => ({
    id: `a${i}`,
    owner: address(`b0${i}`),
    balance: BigInt(1 + (i % 4)),
  }));
  await setTokens(api.database, objects, coin);
  const all = await holders({ coin });
  expect(all).toHaveLength(23);
  const paged: string[] = [];
  for (let page: string[] = []; ; ) {
    page = await holders({ coin, limit: 5, after: paged.at(-1) });
    paged.push(...page);
    if (page.length < 5) break;
  }
  expect(paged).toEqual(all);
});

test("the objects of an owner are listed by id", async () => {
  const { data } = await api.query(
    `query ($coin: String!) {
      all: tokenObjects(coinType: $coin, owner: "0xa11ce") { objectId owner balance version checkpoint }
      one: tokenObjects(coinType: $coin, owner: "0xa11ce", limit: 1) { objectId }
      none: tokenObjects(coinType: $coin, owner: "0x5") { objectId }
    }`,
    { coin: ACME },
  );
  expect(data).toEqual({
    all: [
      { objectId: address("01"), owner: ALICE, balance: "30", version: "7", checkpoint: "42" },
      { objectId: address("02"), owner: ALICE, balance: "12", version: "7", checkpoint: "42" },
    ],
    one: [{ objectId: address("01") }],
    none: [],
  });
});

test("grants are listed by commencement, with every setting as a decimal string", async () => {
  const { data } = await api.query(GRANTS, { coin: ACME });
  expect(data?.tokenTimelocks).toEqual([
    { objectId: address("12"), owner: BOB, leftBalance: "1" },
    { objectId: address("11"), owner: ALICE, leftBalance: "600" },
    { objectId: address("13"), owner: CAROL, leftBalance: "0" },
  ]);
  const one = await api.query(
    `query ($coin: String!) {
      tokenTimelocks(coinType: $coin, owner: "0xB0B", limit: 1) {
        objectId owner funder releaseScheduleId releaseCount delayUntilFirstReleaseMs
        periodBetweenReleasesMs initialReleasePortionBps commencementTimestampMs totalAmount
        tokensTransferred leftBalance decimals
      }
    }`,
    { coin: ACME },
  );
  expect(one.data?.tokenTimelocks).toEqual([
    {
      objectId: address("12"),
      owner: BOB,
      funder: CAROL,
      releaseScheduleId: "3",
      releaseCount: "12",
      delayUntilFirstReleaseMs: "86400000",
      periodBetweenReleasesMs: "2592000000",
      initialReleasePortionBps: "1000",
      commencementTimestampMs: "1",
      totalAmount: "1000",
      tokensTransferred: "400",
      leftBalance: "1",
      decimals: 9,
    },
  ]);
});

test("grants are served while their index is 1000 checkpoints behind, and not at 1001", async () => {
  const { database } = api;
  const state = async () => {
    const balance = await api.query(BALANCE, { coin: ACME, owner: ALICE });
    const grants = await api.query(GRANTS, { coin: ACME });
    return { balance: balance.data?.tokenBalance, holders: await holders(), grants };
  };
  await setWatermark(database, sharedTokenObjectsWatermark, 6000n);
  const near = await state();
  expect(near.balance).toMatchObject({ balance: "642", timelocksIncluded: true });
  expect(near.holders).toEqual([`643:${BOB}`, `642:${ALICE}`]);
  expect(near.grants.errors).toBeUndefined();

  await setWatermark(database, sharedTokenObjectsWatermark, 6001n);
  const far = await state();
  expect(far.balance).toEqual({
    owner: ALICE,
    balance: "42",
    objectCount: 2,
    timelockBalance: "0",
    timelockCount: 0,
    timelocksIncluded: false,
    decimals: 9,
  });
  expect(far.holders).toEqual([`642:${BOB}`, `42:${ALICE}`]);
  expect(far.grants.status).toBe(200);
  expect(far.grants.data).toEqual({ tokenTimelocks: null });
  expect(far.grants.errors).toEqual([
    expect.objectContaining({
      path: ["tokenTimelocks"],
      message: expect.stringContaining("more than 1000 checkpoints behind"),
      extensions: { code: "GRANT_INDEX_BEHIND" },
    }),
  ]);

  // The failing list does not take the answers beside it along.
  const both = await api.query(
    `query ($coin: String!) {
      tokenTimelocks(coinType: $coin) { objectId }
      tokenBalance(coinType: $coin, owner: "0xa11ce") { balance timelocksIncluded }
    }`,
    { coin: ACME },
  );
  expect(both.data).toEqual({
    tokenTimelocks: null,
    tokenBalance: { balance: "42", timelocksIncluded: false },
  });

  await setWatermark(database, timelockObjectsWatermark, 5001n);
  expect((await state()).holders).toEqual([`643:${BOB}`, `642:${ALICE}`]);
});

test.for([
  ["tokenBalance", '{ tokenBalance(coinType: "0x1::a::A", owner: "alice") { balance } }', "owner"],
  ["tokenObjects", '{ tokenObjects(coinType: "0x1::a::A", owner: "0x") { balance } }', "owner"],
  ["tokenTimelocks", '{ tokenTimelocks(coinType: "0x1::a::A", owner: "") { owner } }', "owner"],
  ["tokenHolders", '{ tokenHolders(coinType: "0x1::a::A", after: "5") { owner } }', "after"],
  ["tokenHolders", '{ tokenHolders(coinType: "0x1::a::A", after: "5:bob") { owner } }', "after"],
  ["tokenHolders", '{ tokenHolders(coinType: "0x1::a::A", after: "-5:0xb") { owner } }', "after"],
  ["tokenHolders", '{ tokenHolders(coinType: "0x1::a::A", after: "5:0xb:") { owner } }', "after"],
  ["tokenHolders", '{ tokenHolders(coinType: "0x1::a::A", limit: 1001) { owner } }', "1000"],
  [
    "tokenObjects",
    '{ tokenObjects(coinType: "0x1::a::A", owner: "0x1", limit: 0) { owner } }',
    "1000",
  ],
  ["tokenTimelocks", '{ tokenTimelocks(coinType: "0x1::a::A", limit: 2000) { owner } }', "1000"],
] as const)("%s refuses malformed arguments: %s", async ([field, query, named]) => {
  const { data, errors } = await api.query(query);
  expect(data).toEqual({ [field]: null });
  expect(errors?.map(({ extensions }) => extensions?.code)).toEqual(["BAD_USER_INPUT"]);
  expect(errors?.[0]?.message).toContain(named);
});
