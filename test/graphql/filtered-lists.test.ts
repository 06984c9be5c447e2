/** Filters of the event lists as callers give them, and the holders that the rows show. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { holderProgress } from "../../src/projections/holder-events.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import {
  ACME,
  ALICE,
  activity,
  addActivity,
  addHolderEvents,
  BOB,
  CAROL,
  holderEvent,
  setWatermark,
  setWatermarks,
} from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  // ALICE is with holder 7 from 10 on, BOB with holder 8 from 18 on, and with 7 from 22 on.
  await addHolderEvents(api.database, [
    holderEvent(18n, { eventType: "holder_address_added", holderId: 8n, address: BOB }),
    holderEvent(21n, { eventType: "address_frozen", isFrozen: true, address: BOB }),
    holderEvent(22n, { eventType: "holder_address_removed", holderId: 8n, address: BOB }),
    holderEvent(22n, { eventType: "holder_address_added", holderId: 7n, address: BOB, index: 1 }),
    holderEvent(23n, { eventType: "holder_removed", holderId: 8n }),
  ]);
  await addActivity(api.database, [
    activity(10n, { activityType: "mint", fromAddress: null, toAddress: ALICE, index: 5 }),
    activity(15n, { fromAddress: ALICE, toAddress: BOB }),
    activity(20n, { fromAddress: BOB, toAddress: ALICE }),
    activity(25n, { fromAddress: BOB, toAddress: CAROL }),
    activity(30n, { activityType: "burn", fromAddress: CAROL, toAddress: null }),
  ]);
});
afterAll(() => api[Symbol.asyncDispose]());

const ARGUMENTS = {
  ...{ owner: "String", holderId: "String", types: "[String!]", activityType: "String" },
  ...{ fromCheckpoint: "String", toCheckpoint: "String", fromTimestamp: "String" },
  ...{ toTimestamp: "String", order: "SortOrder", after: "String", limit: "Int" },
} as const;

type Given = Partial<Record<keyof typeof ARGUMENTS, string | number | readonly string[]>>;

const ask = (list: string, fields: string, given: Given) => {
  const types: Readonly<Record<string, string>> = {
    ...ARGUMENTS,
    ...(list === "balanceChanges" && { types: "[BalanceChangeCause!]" }),
  };
  const names = Object.keys(given);
  const declared = names.map((name) => `$${name}: ${types[name]}`).join(", ");
  const passed = names.map((name) => `${name}: $${name}`).join(", ");
  const query = `query ($coin: String!, ${declared}) {
    ${list}(coinType: $coin, ${passed}) { ${fields} } }`;
  return api.query(query, { coin: ACME, ...given });
};

/** Checkpoints of the rows; twice, so that the second answer is of the compiled query. */
const checkpoints = async (list: string, given: Given): Promise<readonly number[]> => {
  const read = async () => {
    const { data, text } = await ask(list, "position", given);
    const rows = data?.[list];
    if (!Array.isArray(rows)) throw new Error(text);
    return rows.map(({ position }) => Number(BigInt(position) / 1_000_000_000n));
  };
  const first = await read();
  expect(await read()).toEqual(first);
  return first;
};

test("movements are found by wallet, type and range, in both orders, together", async () => {
  const list = "tokenActivity";
  expect(await checkpoints(list, { owner: BOB })).toEqual([15, 20, 25]);
  expect(await checkpoints(list, { owner: "0xA11CE", order: "DESC" })).toEqual([20, 15, 10]);
  expect(await checkpoints(list, { types: ["mint", "burn"] })).toEqual([10, 30]);
  expect(await checkpoints(list, { activityType: "transfer", types: ["mint"] })).toEqual([]);
  expect(await checkpoints(list, { owner: BOB, types: ["mint"] })).toEqual([]);
  expect(await checkpoints(list, { fromCheckpoint: "15", toCheckpoint: "25" })).toEqual([
    15, 20, 25,
  ]);
  const late = { owner: BOB, fromCheckpoint: "16", order: "DESC", limit: 1 };
  expect(await checkpoints(list, late)).toEqual([25]);
  expect(await checkpoints(list, { ...late, after: "25000020000" })).toEqual([20]);
  expect(await checkpoints(list, { ...late, after: "20000020000" })).toEqual([]);
});

test("a holder's events are those of the wallets that it had when they happened", async () => {
  expect(await checkpoints("tokenActivity", { holderId: "7" })).toEqual([10, 15, 20, 25]);
  expect(await checkpoints("tokenActivity", { holderId: "8" })).toEqual([20]);
  expect(await checkpoints("tokenActivity", { holderId: "7", owner: BOB })).toEqual([25]);
  expect(await checkpoints("tokenActivity", { holderId: "9" })).toEqual([]);
  expect(await checkpoints("balanceChanges", { holderId: "8" })).toEqual([20]);
  expect(await checkpoints("balanceChanges", { holderId: "7" })).toEqual([10, 15, 20, 25, 25]);
  expect(
    await checkpoints("balanceChanges", {
      holderId: "7",
      types: ["MINT", "GRANT_CLAIMED"],
      order: "DESC",
    }),
  ).toEqual([25, 25, 10]);
  expect(await checkpoints("holderEvents", { holderId: "8" })).toEqual([18, 21, 22, 23]);
  expect(await checkpoints("holderEvents", { holderId: "8", owner: BOB })).toEqual([18, 21, 22]);
  expect(await checkpoints("holderEvents", { owner: BOB, types: ["address_frozen"] })).toEqual([
    21,
  ]);
});

test("bounds in seconds include both of their seconds, and fit together without a gap", async () => {
  const second = (checkpoint: number) => `${1_700_000_000 + checkpoint}`;
  const among = (given: Given) => checkpoints("balanceChanges", given);
  expect(await among({ fromTimestamp: second(15), toTimestamp: second(20) })).toEqual([
    15, 15, 20, 20,
  ]);
  expect(await among({ fromTimestamp: second(15), toTimestamp: second(15) })).toEqual([15, 15]);
  expect(await among({ fromTimestamp: second(16), toTimestamp: second(19) })).toEqual([]);
  expect(await among({ toTimestamp: second(14) })).toEqual([10]);
  expect(await among({ fromTimestamp: second(21) })).toEqual([25, 25]);
  expect(await among({ fromTimestamp: second(21), toCheckpoint: "24" })).toEqual([]);
  expect(await among({ fromTimestamp: "0", toTimestamp: "1" })).toEqual([]);
  expect(await among({ fromTimestamp: second(5_000) })).toEqual([]);
  expect(await among({ toTimestamp: "99999999999999999999" })).toHaveLength(7);
  expect(await checkpoints("roleEvents", { fromTimestamp: second(13), owner: ALICE })).toEqual([
    30,
  ]);
  expect(await checkpoints("roleEvents", { order: "DESC" })).toEqual([30, 12]);
});

const HOLDERS = {
  tokenActivity: "position fromHolderId toHolderId",
  balanceChanges: "position owner holderId",
};

test("rows show the holder of each wallet at the event", async () => {
  for (const _ of ["interpreted", "compiled"]) {
    const { data } = await ask("tokenActivity", HOLDERS.tokenActivity, { order: "ASC" });
    expect(data?.tokenActivity).toEqual([
      { position: "10000020005", fromHolderId: null, toHolderId: "7" },
      { position: "15000020000", fromHolderId: "7", toHolderId: null },
      { position: "20000020000", fromHolderId: "8", toHolderId: "7" },
      { position: "25000020000", fromHolderId: "7", toHolderId: null },
      { position: "30000020000", fromHolderId: null, toHolderId: null },
    ]);
    const changes = await ask("balanceChanges", HOLDERS.balanceChanges, { owner: BOB });
    expect(changes.data?.balanceChanges).toEqual(
      [null, "8", "7", "7"].map((holderId) => expect.objectContaining({ owner: BOB, holderId })),
    );
  }
});

test("a list that shows holders, or is of one, ends where the register of holders ends", async () => {
  await setWatermark(api.database, holderProgress.watermark, 19n);
  try {
    expect(await checkpoints("tokenActivity", { order: "ASC" })).toHaveLength(5);
    expect(await checkpoints("tokenActivity", { holderId: "7" })).toEqual([10, 15]);
    const { data } = await ask(
      "tokenActivity",
      `... on TokenActivity { ${HOLDERS.tokenActivity} }`,
      {
        order: "DESC",
      },
    );
    expect(data?.tokenActivity).toMatchObject([{ fromHolderId: "7" }, { toHolderId: "7" }]);
  } finally {
    await setWatermarks(api.database, LAST);
  }
});

test.for<readonly [string, Given, object]>([
  ["tokenActivity", { types: ["sold"] }, { argument: "types", reason: "UNKNOWN_VALUE" }],
  ["tokenActivity", { types: [] }, { argument: "types", reason: "OUT_OF_RANGE" }],
  [
    "tokenActivity",
    { activityType: "sold" },
    { argument: "activityType", reason: "UNKNOWN_VALUE" },
  ],
  ["tokenActivity", { owner: "bob" }, { argument: "owner", reason: "MALFORMED" }],
  ["balanceChanges", { holderId: "-7" }, { argument: "holderId", reason: "MALFORMED" }],
  ["holderEvents", { fromCheckpoint: "1e3" }, { argument: "fromCheckpoint", reason: "MALFORMED" }],
  ["holderEvents", { limit: 0 }, { argument: "limit", reason: "OUT_OF_RANGE" }],
  [
    "roleEvents",
    { fromTimestamp: "9", toTimestamp: "8" },
    { argument: "fromTimestamp", reason: "CONFLICTS_WITH", conflictsWith: "toTimestamp" },
  ],
])("%s with %o is refused, and the error names the argument", async ([list, given, wrong]) => {
  const { errors } = await ask(list, "position", given);
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT", ...wrong } }]);
});
