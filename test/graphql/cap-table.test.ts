import { afterAll, beforeAll, expect, test } from "vitest";
import { holderLifecycleWatermark } from "../../src/projections/holder-events.ts";
import { STILL_OPEN } from "../../src/projections/ranges.ts";
import { forgetBlocks } from "../log/damage.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import {
  ACME,
  ALICE,
  addHolderEvents,
  address,
  BOB,
  holderEvent,
  setWatermark,
  setWatermarks,
} from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const TABLE = `query (
  $coin: String!, $at: String, $time: String, $limit: Int, $after: String
  $holder: String, $having: RowsWith
) {
  capTable(
    coinType: $coin, atCheckpoint: $at, atTimestamp: $time, limit: $limit, after: $after
    holder: $holder, having: $having
  ) {
    coinType decimals checkpoint checkpointTimestamp checkpointDigest totalSupply issued holderCount root
    rows {
      holderId wallets { address balance groupId isFrozen }
      balance tokens granted unlocked locked share cursor
    }
  }
}`;

const table = async (variables: Record<string, unknown> = {}) => {
  const { data, text } = await api.query(TABLE, { coin: ACME, ...variables });
  expect(data, text).toBeDefined();
  return data?.capTable;
};

const row = (owner: string, holderId: string | null, tokens: bigint, granted: bigint) => ({
  holderId,
  wallets: [{ address: owner, balance: `${tokens + granted}`, groupId: null, isFrozen: false }],
  balance: `${tokens + granted}`,
  tokens: `${tokens}`,
  granted: `${granted}`,
  unlocked: "0",
  locked: `${granted}`,
  cursor: `${tokens + granted}:${holderId ?? owner}`,
});

test("a cap table at a checkpoint has each holder with its wallets, locked tokens and share", async () => {
  const expected = {
    coinType: ACME,
    decimals: 6,
    checkpoint: "20",
    checkpointTimestamp: "1700000020",
    checkpointDigest: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]+$/),
    totalSupply: "630",
    issued: "630",
    holderCount: 2,
    root: expect.stringMatching(/^[0-9a-f]{64}$/),
    rows: [
      { ...row(BOB, null, 18n, 600n), share: "0.980952380952" },
      { ...row(ALICE, "7", 12n, 0n), share: "0.019047619047" },
    ],
  };
  const at = await table({ at: "20" });
  expect(at).toEqual(expected);
  expect(await table({ time: "1700000020" })).toEqual(at);
  // One holder has all of it.
  expect(await table({ at: "14" })).toMatchObject({
    rows: [{ holderId: "7", share: "1.000000000000" }],
  });
});

test("without a checkpoint, the cap table is that of the last one its pipelines have committed", async () => {
  expect(await table()).toMatchObject({ checkpoint: `${LAST}`, totalSupply: "730" });
  await setWatermark(api.database, holderLifecycleWatermark, 20n);
  expect(await table()).toMatchObject({ checkpoint: "20", totalSupply: "630" });
  const { errors } = await api.query(TABLE, { coin: ACME, at: "21" });
  expect(errors).toMatchObject([{ extensions: { code: "NOT_YET_INDEXED" } }]);
  await setWatermarks(api.database, LAST);
});

test("pages at a checkpoint make up the table, each with the same sums", async () => {
  const whole = await table({ at: "20" });
  const first = await table({ at: "20", limit: 1 });
  expect(first).toMatchObject({ issued: "630", rows: [{ holderId: null }] });
  const second = await table({ at: "20", limit: 1, after: `618:${BOB}` });
  const third = await table({ at: "20", limit: 1, after: "12:7" });
  expect(third).toMatchObject({ holderCount: 2, rows: [] });
  const rows = [first, second].flatMap((page) => Object(page).rows);
  expect(whole).toEqual({ ...Object(first), rows });
});

test("one holder's row, selected by number or wallet, comes with the sums of all rows", async () => {
  const whole = Object(await table({ at: "20" }));
  const [bob, alice] = whole.rows;
  for (const [holder, rows] of [
    ["7", [alice]],
    [ALICE, [alice]],
    [BOB.replace(/^0x0*/, "0x").toUpperCase().replace("0X", "0x"), [bob]],
    ["8", []],
    [address("77"), []],
  ] as const) {
    expect(await table({ at: "20", holder }), holder).toEqual({ ...whole, rows });
  }
  // Rows that are not meant are not counted against the limit.
  expect(await table({ at: "20", holder: "7", limit: 1 })).toEqual({ ...whole, rows: [alice] });
  expect(await table({ at: "20", holder: "7", after: alice.cursor })).toMatchObject({ rows: [] });
  for (const holder of ["", "x", "-7", "7 ", "0x", "0xg", "1".repeat(21)]) {
    const { errors } = await api.query(TABLE, { coin: ACME, holder });
    expect(errors, holder).toMatchObject([
      { message: expect.stringContaining("holder"), extensions: { code: "BAD_USER_INPUT" } },
    ]);
  }
});

test("rows without a holder, and those with a frozen wallet that holds, can be selected", async () => {
  await using frozen = await startApi();
  await addHistory(frozen.database);
  const since = { checkpoint: 10n, until: STILL_OPEN };
  const freezes = [ALICE, address("77")].map((wallet, index) =>
    holderEvent(10n, {
      eventType: "address_frozen",
      address: wallet,
      isFrozen: true,
      index: index + 1,
    }),
  );
  await addHolderEvents(
    frozen.database,
    freezes,
    [ALICE, address("77")].map((wallet) => ({
      coinType: ACME,
      address: wallet,
      aspect: "freeze",
      value: 1n,
      ...since,
    })),
  );
  const rows = async (variables: object) => {
    const { data, text } = await frozen.query(TABLE, { coin: ACME, at: "20", ...variables });
    expect(data, text).toBeDefined();
    return Object(data?.capTable).rows.map(({ cursor }: { readonly cursor: string }) => cursor);
  };
  expect(await rows({})).toEqual([`618:${BOB}`, "12:7"]);
  expect(await rows({ having: "NO_HOLDER" })).toEqual([`618:${BOB}`]);
  expect(await rows({ having: "FROZEN_BALANCE" })).toEqual(["12:7"]);
  expect(await rows({ having: "FROZEN_BALANCE", holder: BOB })).toEqual([]);
});

test("a coin type not yet seen at a checkpoint has no table there", async () => {
  expect(await table({ at: "9" })).toBeNull();
  expect(await table({ coin: `${address("5")}::no::NO` })).toBeNull();
});

test("the time of a future checkpoint is reported as not indexed yet", async () => {
  await using older = await startApi();
  await addHistory(older.database);
  await forgetBlocks(older.database);
  const { data, errors } = await older.query(TABLE, { coin: ACME, at: "20" });
  expect(data).toEqual({ capTable: null });
  expect(errors).toMatchObject([
    {
      message: "the time of checkpoint 20 is still being filled in",
      extensions: { code: "NOT_YET_INDEXED" },
    },
  ]);
});

test.for(["x", "1", "1:", "1:x", "1:7:", "-1:7", `1:${"1".repeat(21)}`, "1:0xg"])(
  "the cursor %s is refused",
  async (after) => {
    const { errors } = await api.query(TABLE, { coin: ACME, after });
    expect(errors).toMatchObject([
      { message: expect.stringContaining("after"), extensions: { code: "BAD_USER_INPUT" } },
    ]);
  },
);

test("the widest page stays within a request's cost limit", async () => {
  const { errors } = await api.query(TABLE, { coin: ACME, limit: 1_000 });
  expect(errors).toBeUndefined();
});
