import { afterAll, beforeAll, expect, test } from "vitest";
import { createReaders } from "../../src/database/readers.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { tokenActivityWatermark } from "../../src/projections/token-activity.ts";
import { setHeld } from "../projections/set-watermark.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, addMovements, LAST } from "./history-rows.ts";
import {
  ACME,
  ALICE,
  activity,
  addActivity,
  addHolderEvents,
  address,
  BOB,
  holderEvent,
  setWatermark,
  setWatermarks,
} from "./rows.ts";
import { askCounted } from "./statements.ts";

const OTHER = `${address("07")}::other::OTHER`;

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  await addMovements(api.database, OTHER);
  await addActivity(api.database, [
    activity(20n, { amount: 18n }),
    activity(20n, { amount: 18n, coinType: OTHER, index: 1 }),
    // To the same wallet: no balance changes.
    activity(33n, { fromAddress: BOB, toAddress: BOB }),
  ]);
  await addHolderEvents(api.database, [
    holderEvent(34n, { eventType: "address_frozen", address: BOB, isFrozen: true }),
  ]);
});
afterAll(() => api[Symbol.asyncDispose]());

const TRANSACTION = `query ($digest: String!) {
  transaction(digest: $digest) {
    digest checkpoint checkpointTimestamp checkpointTimestampMs sender
    activity { coinType activityType amount fromAddress toAddress decimals }
    changes { coinType owner part cause change }
    holderEvents { eventType address }
    roleEvents { owner role granted roleBit }
  }
}`;

const ask = async (digest: string) => {
  const { data, text } = await api.query(TRANSACTION, { digest });
  expect(data, text).toBeDefined();
  return { transaction: Object(data).transaction, text };
};

const NOTHING = { activity: [], changes: [], holderEvents: [], roleEvents: [] };

test("a transaction is shown whole: its movements, balances and events of all coin types", async () => {
  const moved = { activityType: "transfer", amount: "18", fromAddress: ALICE, toAddress: BOB };
  const change = (owner: string, by: string) => ({
    ...{ owner, change: by, part: "TOKENS", cause: "TRANSFER" },
  });
  expect((await ask("digest20")).transaction).toEqual({
    ...NOTHING,
    digest: "digest20",
    checkpoint: "20",
    checkpointTimestamp: "1700000020",
    checkpointTimestampMs: "1700000020000",
    // These rows have no facts.
    sender: null,
    activity: [
      { coinType: ACME, ...moved, decimals: 6 },
      { coinType: OTHER, ...moved, decimals: 6 },
    ],
    changes: [BOB, ALICE].flatMap((owner) =>
      [OTHER, ACME].map((coinType) => ({
        coinType,
        ...change(owner, owner === BOB ? "18" : "-18"),
      })),
    ),
  });
});

test.each([
  ["a grant, without an event", "digest25", { changes: [{ owner: BOB }, {}, {}, {}] }],
  ["a movement that changes no balance", "digest33", { activity: [{ fromAddress: BOB }] }],
  ["an event of the register", "digest34", { holderEvents: [{ eventType: "address_frozen" }] }],
  ["a role", "digest30", { roleEvents: [{ owner: ALICE, granted: false, roleBit: 1 }, {}] }],
])("a transaction is found by %s alone", async (_what, digest, rows) => {
  expect((await ask(digest)).transaction).toMatchObject({ ...NOTHING, ...rows });
});

test("an unknown transaction is null, and an impossible digest is refused", async () => {
  for (const digest of ["digest2", "digest200", "5Ab"]) {
    expect((await ask(digest)).transaction).toBeNull();
  }
  for (const digest of ["", "%", "0 1", "a".repeat(65)]) {
    const { errors } = await api.query(TRANSACTION, { digest });
    expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
  }
});

test("a transaction is shown once all five pipelines have committed its checkpoint", async () => {
  await setWatermark(api.database, roleChangesWatermark, 19n);
  const { errors } = await api.query(TRANSACTION, { digest: "digest20" });
  expect(errors).toMatchObject([{ extensions: { code: "NOT_YET_INDEXED" } }]);
  await setWatermark(api.database, roleChangesWatermark, 20n);
  expect((await ask("digest20")).transaction).toMatchObject({ checkpoint: "20" });
  await setWatermarks(api.database, LAST);
});

test("rows of a coin in quarantine are left out, and the answer names the coin", async () => {
  await setHeld(api.database, tokenActivityWatermark, OTHER, { from: 20n, reason: "damaged" });
  const { transaction, text } = await ask("digest20");
  expect(transaction).toMatchObject({
    activity: [{ coinType: ACME }],
    changes: [{ coinType: ACME }, { coinType: ACME }],
  });
  expect(JSON.parse(text).extensions.quarantined).toMatchObject([{ coinType: OTHER }]);
  await setHeld(api.database, tokenActivityWatermark, OTHER, { from: 21n, reason: "damaged" });
  expect((await ask("digest20")).transaction.activity).toHaveLength(2);
});

test("the holders of its rows are read by one statement for each list and coin", async () => {
  const { url } = api.database;
  const readers = createReaders({ url, max: 2, applicationName: "test", readOnly: true });
  const { answer, statements } = await askCounted(
    readers,
    [],
    `{ transaction(digest: "digest20") {
      activity { coinType fromAddress fromHolderId toHolderId } changes { owner holderId }
    } }`,
  ).finally(() => readers.close());
  const { activity: moved, changes } = Object(answer.data).transaction;
  expect([moved.length, changes.length]).toEqual([2, 4]);
  const ofHolders = statements.filter((text) => text.includes("place (address, position)"));
  expect(ofHolders).toHaveLength(4);
  const whose = new Map(changes.map((row: object) => [Object(row).owner, Object(row).holderId]));
  for (const { fromHolderId, toHolderId } of moved) {
    expect([fromHolderId, toHolderId]).toEqual([whose.get(ALICE), whose.get(BOB)]);
  }
  expect(new Set(whose.values())).not.toContain(undefined);
});
