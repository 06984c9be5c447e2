import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./api.ts";
import { ACME, ALICE, activity, addActivity, address, BOB, CAROL, knowCoin } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const EVERYTHING = `query ($coin: String!, $limit: Int, $offset: Int, $order: SortOrder, $after: String, $type: String) {
  tokenActivity(
    coinType: $coin, limit: $limit, offset: $offset, order: $order, after: $after, activityType: $type
  ) {
    activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType
    decimals fromAddress toAddress signer tokenObjectId
  }
}`;

/** Positions of a page. */
const positions = async (variables: Record<string, unknown>): Promise<string[]> => {
  const { data, text } = await api.query(EVERYTHING, { coin: ACME, ...variables });
  const rows = data?.tokenActivity;
  if (!Array.isArray(rows)) throw new Error(text);
  return rows.map(({ position }) => position);
};

test("an unknown coin type has an empty log", async () => {
  const { data, errors } = await api.query(EVERYTHING, { coin: "0xfeed::none::NONE" });
  expect({ data, errors }).toEqual({ data: { tokenActivity: [] }, errors: undefined });
});

test("every field has its specified form, including u64 amounts and nulls", async () => {
  const coin = `${address("f1e1d")}::fields::FIELDS`;
  const u64 = 2n ** 64n - 1n;
  await addActivity(api.database, [
    activity(11n, { coinType: coin, activityType: "mint", fromAddress: null, amount: u64 }),
    activity(12n, { coinType: coin, activityType: "burn", toAddress: null, index: 3 }),
  ]);
  const first = await api.query(EVERYTHING, { coin });
  expect(first.data?.tokenActivity).toEqual([
    {
      activityType: "mint",
      txDigest: "digest11",
      eventSeq: 0,
      eventId: "digest11-0",
      position: "11000020000",
      checkpoint: "11",
      checkpointTimestamp: "1700000011",
      amount: "18446744073709551615",
      coinType: coin,
      decimals: null,
      fromAddress: null,
      toAddress: BOB,
      signer: CAROL,
      tokenObjectId: address("0b1ec7"),
    },
    expect.objectContaining({
      activityType: "burn",
      eventSeq: 3,
      eventId: "digest12-3",
      position: "12000020003",
      fromAddress: ALICE,
      toAddress: null,
    }),
  ]);
  await knowCoin(api.database, coin, 6);
  const later = await api.query(EVERYTHING, { coin });
  expect(later.data?.tokenActivity).toEqual([
    expect.objectContaining({ decimals: 6 }),
    expect.objectContaining({ decimals: 6 }),
  ]);
});

test("the log is in chain order unless DESC is requested; limit and offset slice it", async () => {
  await addActivity(
    api.database,
    [3n, 1n, 2n, 5n, 4n].map((checkpoint) => activity(checkpoint)),
  );
  const ascending = ["1000020000", "2000020000", "3000020000", "4000020000", "5000020000"];
  expect(await positions({})).toEqual(ascending);
  expect(await positions({ order: "ASC" })).toEqual(ascending);
  expect(await positions({ order: "DESC" })).toEqual(ascending.toReversed());
  expect(await positions({ limit: 2, offset: 1 })).toEqual(ascending.slice(1, 3));
  expect(await positions({ limit: 2, order: "DESC", offset: 4 })).toEqual(["1000020000"]);
  expect(await positions({ after: "2000020000" })).toEqual(ascending.slice(2));
  expect(await positions({ after: "3000020000", order: "DESC" })).toEqual([
    "2000020000",
    "1000020000",
  ]);
  expect(await positions({ limit: null, offset: null, order: null })).toEqual(ascending);
});

test("the default limit is a hundred rows, the largest a thousand", async () => {
  const coin = `${address("1a46e")}::large::LARGE`;
  const rows = Array.from({ length: 1001 }, (_, i) => activity(BigInt(i), { coinType: coin }));
  await addActivity(api.database, rows);
  expect(await positions({ coin })).toHaveLength(100);
  expect(await positions({ coin, limit: 1000 })).toHaveLength(1000);
  expect(await positions({ coin, limit: 1000, offset: 1000 })).toEqual(["1000000020000"]);
});

test("paging by position loses nothing and repeats nothing while rows arrive", async () => {
  const coin = `${address("9a9e")}::page::PAGE`;
  const add = (from: number, count: number) =>
    addActivity(
      api.database,
      Array.from({ length: count }, (_, i) => activity(BigInt(from + i), { coinType: coin })),
    );
  await add(0, 40);
  const seen: string[] = [];
  let written = 40;
  for (;;) {
    const page = await positions({ coin, limit: 7, after: seen.at(-1) });
    seen.push(...page);
    if (written < 70) {
      await add(written, 3);
      written += 3;
    } else if (page.length === 0) break;
  }
  const all = await positions({ coin, limit: 1000 });
  expect(all).toHaveLength(70);
  expect(seen).toEqual(all);
});

test("the movements of one type are exactly those of that type, in both orders, page by page", async () => {
  const coin = `${address("7e9e")}::types::TYPES`;
  const types = ["mint", "transfer", "transfer", "burn", "transfer", "force_transfer"] as const;
  const rows = Array.from({ length: 40 }, (_, i) =>
    activity(BigInt(i), { coinType: coin, activityType: types[i % types.length] ?? "mint" }),
  );
  await addActivity(api.database, rows);
  const all = await positions({ coin });
  for (const type of ["mint", "burn", "transfer", "force_transfer"]) {
    const wanted = all.filter((_, i) => types[i % types.length] === type);
    expect(wanted.length, type).toBeGreaterThan(5);
    for (const order of ["ASC", "DESC"]) {
      const seen: string[] = [];
      for (;;) {
        const page = await positions({ coin, type, order, limit: 3, after: seen.at(-1) });
        if (page.length === 0) break;
        seen.push(...page);
      }
      expect(seen, `${type} ${order}`).toEqual(order === "ASC" ? wanted : wanted.toReversed());
    }
    expect(await positions({ coin, type, offset: 2, limit: 2 })).toEqual(wanted.slice(2, 4));
  }
  expect(await positions({ coin, type: null })).toEqual(all);
  const { errors } = await api.query(EVERYTHING, { coin, type: "MINT" });
  expect(errors).toEqual([
    expect.objectContaining({
      message: 'activityType must be one of mint, burn, transfer, force_transfer; it is "MINT"',
      extensions: expect.objectContaining({ code: "BAD_USER_INPUT" }),
    }),
  ]);
});

test("a coin is found by short address and any letter case, and by name if unambiguous", async () => {
  await knowCoin(api.database, ACME);
  const spellings = [
    "0xacce::acme::ACME",
    "0XACCE::acme::ACME",
    "0x00000acCE::acme::ACME",
    "0xacce::ACME::acme",
    ACME.toUpperCase().replace("0X", "0x"),
  ];
  const expected = await positions({ limit: 3 });
  expect(expected).toHaveLength(3);
  for (const coin of spellings) expect(await positions({ coin, limit: 3 })).toEqual(expected);

  // A second coin that differs in case alone: now only the exact spelling says which is meant.
  await knowCoin(api.database, `${address("acce")}::acme::Acme`);
  expect(await positions({ coin: "0xacce::acme::acme" })).toEqual([]);
  expect(await positions({ coin: "0xacce::acme::ACME", limit: 3 })).toEqual(expected);
});

test.for([
  [{ limit: 0 }, "limit must be from 1 to 1000; it is 0"],
  [{ limit: -5 }, "limit must be from 1 to 1000; it is -5"],
  [{ limit: 1001 }, "limit must be from 1 to 1000; it is 1001"],
  // Out of bounds before it is too costly: the answer names the bound that is meant.
  [{ limit: 2_000_000_000 }, "limit must be from 1 to 1000; it is 2000000000"],
  [{ offset: 2_000_000_000 }, "offset must be from 0 to 1000000; it is 2000000000"],
  [{ offset: -1 }, "offset must be from 0 to 1000000; it is -1"],
  [{ offset: 1_000_001 }, "offset must be from 0 to 1000000; it is 1000001"],
  [
    { after: "soon" },
    'after must be the position of a row, such as "184220931000020003"; it is "soon"',
  ],
  [{ after: "-1" }, "after must be the position"],
  [{ after: "9223372036854775808" }, "after must be the position"],
  [{ coin: "ACME" }, "coinType is not a type"],
  [{ coin: "0xacce::acme" }, "coinType is a module or type name is missing"],
] as const)("%j is refused, naming the bound", async ([variables, message]) => {
  const { status, data, errors } = await api.query(EVERYTHING, { coin: ACME, ...variables });
  expect(status).toBe(200);
  expect(data).toEqual({ tokenActivity: null });
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining(message),
      extensions: expect.objectContaining({ code: "BAD_USER_INPUT" }),
    }),
  ]);
});
