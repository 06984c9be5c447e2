import { afterAll, beforeAll, expect, test } from "vitest";
import {
  sharedTokenObjectsWatermark,
  timelockObjectsWatermark,
} from "../../src/projections/balance-progress.ts";
import type { WatermarkTable } from "../../src/projections/progress-tables.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { setFilled } from "../projections/set-watermark.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, GRANT, LAST, OTHER_TOKEN, TOKEN } from "./history-rows.ts";
import { ACME, ALICE, address, BOB, setWatermark, setWatermarks, timestampMs } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const secondsOf = (checkpoint: bigint) => (timestampMs(checkpoint) / 1000n).toString();

/** Both ways to ask for the end of a checkpoint. */
const atEndOf = (checkpoint: bigint) => [
  `atCheckpoint: "${checkpoint}"`,
  `atTimestamp: "${secondsOf(checkpoint)}"`,
];

const PAST: Readonly<Record<string, (at: string) => string>> = {
  tokenBalance: (at) =>
    `tokenBalance(coinType: "${ACME}", owner: "${BOB}", ${at}) { balance objectCount timelockBalance timelockCount timelocksIncluded decimals }`,
  tokenObjects: (at) =>
    `tokenObjects(coinType: "${ACME}", owner: "${ALICE}", ${at}) { objectId balance checkpoint }`,
  tokenTimelocks: (at) =>
    `tokenTimelocks(coinType: "${ACME}", ${at}) { objectId leftBalance decimals }`,
  tokenHolders: (at) =>
    `tokenHolders(coinType: "${ACME}", ${at}) { owner balance timelockBalance timelocksIncluded }`,
  walletRoles: (at) => `walletRoles(coinType: "${ACME}", ${at}) { owner roleBits }`,
};

const balance = (tokens: number, granted: number) => ({
  balance: String(tokens + granted),
  objectCount: tokens > 0 ? 1 : 0,
  timelockBalance: String(granted),
  timelockCount: granted > 0 ? 1 : 0,
  timelocksIncluded: true,
  decimals: 6,
});

const holder = (owner: string, tokens: number, granted: number) => {
  const { balance: total, timelockBalance, timelocksIncluded } = balance(tokens, granted);
  return { owner, balance: total, timelockBalance, timelocksIncluded };
};

test.for<[string, bigint, unknown]>([
  ["tokenBalance", 14n, balance(0, 0)],
  ["tokenBalance", 15n, balance(0, 600)],
  ["tokenBalance", 24n, balance(18, 600)],
  ["tokenBalance", 25n, balance(118, 500)],
  ["tokenBalance", LAST - 1n, balance(118, 500)],
  ["tokenObjects", 9n, []],
  ["tokenObjects", 14n, [{ objectId: TOKEN, balance: "630", checkpoint: "10" }]],
  ["tokenObjects", 19n, [{ objectId: TOKEN, balance: "30", checkpoint: "15" }]],
  ["tokenObjects", 20n, [{ objectId: TOKEN, balance: "12", checkpoint: "20" }]],
  ["tokenTimelocks", 14n, []],
  ["tokenTimelocks", 24n, [{ objectId: GRANT, leftBalance: "600", decimals: 6 }]],
  ["tokenTimelocks", 25n, [{ objectId: GRANT, leftBalance: "500", decimals: 6 }]],
  ["tokenHolders", 9n, []],
  ["tokenHolders", 14n, [holder(ALICE, 630, 0)]],
  ["tokenHolders", 20n, [holder(BOB, 18, 600), holder(ALICE, 12, 0)]],
  ["walletRoles", 11n, []],
  ["walletRoles", 12n, [{ owner: ALICE, roleBits: 1 }]],
  ["walletRoles", 30n, []],
])("%s as of the end of checkpoint %i, and of its second", async ([name, checkpoint, expected]) => {
  for (const at of atEndOf(checkpoint)) {
    const { data, text } = await api.query(`{ ${PAST[name]?.(at)} }`);
    expect(data?.[name], text).toEqual(expected);
  }
});

test("the last committed checkpoint can be queried, its second only when it is over", async () => {
  const [checkpoint, second] = atEndOf(LAST).map((at) => `{ ${PAST.tokenBalance?.(at)} }`);
  expect((await api.query(checkpoint ?? "")).errors).toBeUndefined();
  const { data, errors } = await api.query(second ?? "");
  expect(data).toEqual({ tokenBalance: null });
  expect(errors).toMatchObject([
    {
      message: `no checkpoint after the second ${secondsOf(LAST)} is indexed yet; the last one is ${LAST}`,
      extensions: { code: "NOT_YET_INDEXED" },
    },
  ]);
});

test.for(Object.keys(PAST))("%s of checkpoints not indexed yet or before the log", async (name) => {
  const ask = async (at: string) => {
    const { data, errors } = await api.query(`{ ${PAST[name]?.(at)} }`);
    expect(data).toEqual({ [name]: null });
    return { message: errors?.[0]?.message, code: errors?.[0]?.extensions?.code };
  };
  for (const at of [LAST + 1n, 10n ** 10n, 2n ** 64n - 1n]) {
    expect(await ask(`atCheckpoint: "${at}"`)).toEqual({
      code: "NOT_YET_INDEXED",
      message: `checkpoint ${at} is not indexed yet; the last one is ${LAST}`,
    });
  }
  expect((await ask(`atTimestamp: "${10n ** 19n}"`)).code).toBe("NOT_YET_INDEXED");
  expect(await ask('atCheckpoint: "4"')).toEqual({
    code: "BAD_USER_INPUT",
    message: "checkpoint 4 lies before the log begins, at checkpoint 5",
  });
  expect(await ask('atTimestamp: "1"')).toEqual({
    code: "BAD_USER_INPUT",
    message: "the second 1 lies before the log begins, at checkpoint 5",
  });
  for (const at of ["-1", "1.5", "", "0x1", "1".repeat(21)]) {
    const { code, message } = await ask(`atCheckpoint: "${at}"`);
    expect([code, message]).toEqual(["BAD_USER_INPUT", expect.stringContaining("atCheckpoint")]);
    expect((await ask(`atTimestamp: "${at}"`)).message).toContain("atTimestamp must be unix");
  }
  expect(await ask('atCheckpoint: "10", atTimestamp: "1700000010"')).toEqual({
    code: "BAD_USER_INPUT",
    message: "give atCheckpoint or atTimestamp, not both",
  });
});

test("each query waits for the pipelines it reads, and for no other", async () => {
  const needs: Readonly<Record<string, readonly WatermarkTable[]>> = {
    tokenBalance: [sharedTokenObjectsWatermark, timelockObjectsWatermark],
    tokenHolders: [sharedTokenObjectsWatermark, timelockObjectsWatermark],
    tokenObjects: [sharedTokenObjectsWatermark],
    tokenTimelocks: [timelockObjectsWatermark],
    walletRoles: [roleChangesWatermark],
  };
  const watermarks = [sharedTokenObjectsWatermark, timelockObjectsWatermark, roleChangesWatermark];
  for (const watermark of watermarks) {
    await setWatermarks(api.database, LAST);
    await setWatermark(api.database, watermark, 20n);
    for (const [name, needed] of Object.entries(needs)) {
      for (const at of atEndOf(22n)) {
        const { errors } = await api.query(`{ ${PAST[name]?.(at)} }`);
        const codes = errors?.map(({ extensions }) => extensions?.code);
        expect(codes).toEqual(needed.includes(watermark) ? ["NOT_YET_INDEXED"] : undefined);
      }
    }
  }
  await setWatermarks(api.database, LAST);
});

test("while the history of an upgraded database is filled in, queries of the past wait and those of the present do not", async () => {
  const fill = (isFilled: boolean) => setFilled(api.database, timelockObjectsWatermark, isFilled);
  await fill(false);
  try {
    const past = await api.query(`{ ${PAST.tokenBalance?.('atCheckpoint: "20"')} }`);
    expect(past.errors).toMatchObject([
      {
        message: expect.stringContaining("still being filled in"),
        extensions: { code: "NOT_YET_INDEXED" },
      },
    ]);
    const present = await api.query(`{ ${PAST.tokenBalance?.("atCheckpoint: null")} }`);
    expect(present.data?.tokenBalance).toEqual(balance(118, 500));
  } finally {
    await fill(true);
  }
});

test("objects and grants are paged after the last row, now and at a checkpoint", async () => {
  const objects = async (after: string | null, at: string | null = null) => {
    const { data } = await api.query(
      `query ($after: String, $at: String) {
        tokenObjects(coinType: "${ACME}", owner: "${BOB}", after: $after, atCheckpoint: $at) { objectId }
      }`,
      { after, at },
    );
    return data?.tokenObjects;
  };
  for (const at of [null, "22"]) {
    expect(await objects(null, at)).toEqual([{ objectId: OTHER_TOKEN }]);
    expect(await objects("0x1", at)).toEqual([{ objectId: OTHER_TOKEN }]);
    expect(await objects(OTHER_TOKEN, at)).toEqual([]);
  }
  const grants = async (after: string | null, at: string | null = null) => {
    const { data } = await api.query(
      `query ($after: String, $at: String) {
        tokenTimelocks(coinType: "${ACME}", after: $after, atCheckpoint: $at) { objectId }
      }`,
      { after, at },
    );
    return data?.tokenTimelocks;
  };
  for (const at of [null, "22"]) {
    expect(await grants(null, at)).toEqual([{ objectId: GRANT }]);
    expect(await grants("1699999999999:0xff", at)).toEqual([{ objectId: GRANT }]);
    expect(await grants("1700000000000:0x10", at)).toEqual([{ objectId: GRANT }]);
    expect(await grants(`1700000000000:${GRANT}`, at)).toEqual([]);
    expect(await grants(`${2n ** 64n - 1n}:0x0`, at)).toEqual([]);
  }
});

test.for([
  [
    `tokenObjects(coinType: "${ACME}", owner: "0x1", after: "x") { owner }`,
    "after must be an address",
  ],
  [
    `tokenTimelocks(coinType: "${ACME}", after: "x") { owner }`,
    "<commencementTimestampMs>:<objectId>",
  ],
  [`tokenTimelocks(coinType: "${ACME}", after: "1:0x1:") { owner }`, "<commencementTimestampMs>:"],
  [
    `tokenTimelocks(coinType: "${ACME}", after: "${"1".repeat(21)}:0x1") { owner }`,
    "after must be",
  ],
  [`tokenTimelocks(coinType: "${ACME}", after: "1:${address("1")}0") { owner }`, "the object id"],
])("a cursor of another form is refused: %s", async ([query, message]) => {
  const { errors } = await api.query(`{ ${query} }`);
  expect(errors).toMatchObject([
    { message: expect.stringContaining(message ?? ""), extensions: { code: "BAD_USER_INPUT" } },
  ]);
});
