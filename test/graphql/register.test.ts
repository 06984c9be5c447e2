import { afterAll, beforeAll, expect, test } from "vitest";
import { tokenActivityWatermark } from "../../src/projections/token-activity.ts";
import { setFilledThrough } from "../projections/set-watermark.ts";
import { type Api, PACKAGE, startApi } from "./api.ts";
import {
  ACME,
  ALICE,
  addHolderEvents,
  addRoleEvents,
  address,
  BOB,
  CAROL,
  holderEvent,
  roleEvent,
  setWatermark,
  timestampMs,
} from "./rows.ts";

/** 100 s and a bit after the time of checkpoint 10. */
const NOW = Number(timestampMs(10n)) + 100_900;

let api: Api;
beforeAll(async () => {
  api = await startApi({ now: () => NOW });
});
afterAll(() => api[Symbol.asyncDispose]());

const STATUS = `{
  indexerStatus { pipeline checkpoint checkpointTimestamp ageSeconds historyFilledThrough }
}`;

test("the status lists the five pipelines in order; one without commits is infinitely old", async () => {
  const nothing = {
    checkpoint: null,
    checkpointTimestamp: null,
    ageSeconds: 2_147_483_647,
    historyFilledThrough: null,
  };
  const rest = ["shared_token_objects", "timelock_objects", "holder_lifecycle", "role_changes"];
  const before = await api.query(STATUS);
  expect(before.data?.indexerStatus).toEqual(
    ["token_activity", ...rest].map((pipeline) => ({ pipeline, ...nothing })),
  );

  await setWatermark(api.database, tokenActivityWatermark, 10n);
  const after = await api.query(STATUS);
  expect(after.data?.indexerStatus).toEqual([
    {
      pipeline: "token_activity",
      checkpoint: "10",
      checkpointTimestamp: "1700000010",
      ageSeconds: 100,
      historyFilledThrough: null,
    },
    ...rest.map((pipeline) => ({ pipeline, ...nothing })),
  ]);

  await setFilledThrough(api.database, tokenActivityWatermark, 7n);
  const filling = await api.query(STATUS);
  expect(filling.data?.indexerStatus).toMatchObject([
    { historyFilledThrough: "7" },
    {},
    {},
    {},
    {},
  ]);

  // A validator's clock may be ahead of ours; an age is never below zero.
  await setWatermark(api.database, tokenActivityWatermark, 1000n);
  const ahead = await api.query("{ indexerStatus { ageSeconds } }");
  expect(ahead.data?.indexerStatus).toMatchObject([{ ageSeconds: 0 }, {}, {}, {}, {}]);
});

const EVENTS = `query ($coin: String!, $since: String, $after: String, $limit: Int) {
  holderEvents(coinType: $coin, sinceTimestamp: $since, after: $after, limit: $limit) {
    eventType eventId position holderId address groupId isFrozen checkpointTimestamp
  }
}`;

test("each kind of holder event has its own values and null elsewhere; holder 0 is a valid holder", async () => {
  await addHolderEvents(api.database, [
    holderEvent(1n, { eventType: "holder_address_added", holderId: 0n, address: ALICE }),
    holderEvent(1n, { eventType: "holder_added", holderId: 0n, index: 1 }),
    holderEvent(2n, { eventType: "address_joined_group", address: ALICE, groupId: 2n ** 64n - 1n }),
    holderEvent(3n, { eventType: "address_left_group", address: ALICE, groupId: 0n }),
    holderEvent(4n, { eventType: "address_frozen", address: ALICE, isFrozen: false }),
    holderEvent(5n, { eventType: "holder_address_removed", holderId: 0n, address: ALICE }),
    holderEvent(6n, { eventType: "holder_removed", holderId: 0n }),
  ]);
  const { data } = await api.query(EVENTS, { coin: "0xACCE::acme::ACME" });
  const none = { holderId: null, address: null, groupId: null, isFrozen: null };
  const event = (checkpoint: number, fields: Record<string, unknown>, index = 0) => ({
    ...none,
    eventId: `digest${checkpoint}-${index}`,
    position: `${checkpoint}00002000${index}`,
    checkpointTimestamp: `170000000${checkpoint}`,
    ...fields,
  });
  expect(data?.holderEvents).toEqual([
    event(1, { eventType: "holder_address_added", holderId: "0", address: ALICE }),
    event(1, { eventType: "holder_added", holderId: "0" }, 1),
    event(2, {
      eventType: "address_joined_group",
      address: ALICE,
      groupId: "18446744073709551615",
    }),
    event(3, { eventType: "address_left_group", address: ALICE, groupId: "0" }),
    event(4, { eventType: "address_frozen", address: ALICE, isFrozen: false }),
    event(5, { eventType: "holder_address_removed", holderId: "0", address: ALICE }),
    event(6, { eventType: "holder_removed", holderId: "0" }),
  ]);
});

test("sinceTimestamp includes its second; after excludes its event; both may be combined", async () => {
  const types = async (variables: Record<string, unknown>) => {
    const { data, text } = await api.query(EVENTS, { coin: ACME, ...variables });
    const rows = data?.holderEvents;
    if (!Array.isArray(rows)) throw new Error(text);
    return rows.map(({ checkpointTimestamp }) => Number(checkpointTimestamp) - 1_700_000_000);
  };
  expect(await types({ since: "1700000004" })).toEqual([4, 5, 6]);
  expect(await types({ since: "1700000007" })).toEqual([]);
  expect(await types({ since: "0" })).toHaveLength(7);
  expect(await types({ since: "999999999999999" })).toEqual([]);
  expect(await types({ after: "4000020000" })).toEqual([5, 6]);
  expect(await types({ since: "1700000002", after: "3000020000", limit: 2 })).toEqual([4, 5]);
  expect(await types({ since: "1700000005", after: "1000020000" })).toEqual([5, 6]);
});

test("current roles have bits when they belong to the package; look-alikes are listed and add none", async () => {
  const other = address("f0e");
  await addRoleEvents(api.database, [
    roleEvent(1n, BOB, "ContractAdmin"),
    roleEvent(2n, BOB, "TimelockCanceler"),
    roleEvent(3n, ALICE, "TransferAdmin", { package: other }),
    roleEvent(4n, BOB, "ContractAdmin", { package: other }),
    roleEvent(5n, CAROL, "WalletsAdmin"),
    roleEvent(6n, CAROL, "WalletsAdmin", { granted: false }),
    roleEvent(7n, BOB, "ReserveAdmin"),
  ]);
  const { data } = await api.query(
    `query ($coin: String!) {
      walletRoles(coinType: $coin) { owner roleBits roles }
      roleEvents(coinType: $coin, sinceTimestamp: "1700000003", limit: 4) {
        eventId position owner role roleBit granted signer checkpointTimestamp
      }
      none: walletRoles(coinType: "0x1::none::NONE") { owner }
    }`,
    { coin: ACME },
  );
  expect(data?.walletRoles).toEqual(
    [
      { owner: BOB, roleBits: 1 + 2 + 16, roles: expect.any(Array) },
      { owner: ALICE, roleBits: 0, roles: [`${other}::roles::TransferAdmin`] },
    ].toSorted((a, b) => (a.owner < b.owner ? -1 : 1)),
  );
  expect(data?.walletRoles).toContainEqual(
    expect.objectContaining({
      owner: BOB,
      roles: [
        `${PACKAGE}::roles::ContractAdmin`,
        `${PACKAGE}::roles::ReserveAdmin`,
        `${PACKAGE}::roles::TimelockCanceler`,
        `${other}::roles::ContractAdmin`,
      ],
    }),
  );
  expect(data?.roleEvents).toMatchObject([
    { owner: ALICE, roleBit: 0, granted: true },
    { owner: BOB, roleBit: 0, role: `${other}::roles::ContractAdmin` },
    {
      eventId: "digest5-0",
      position: "5000020000",
      owner: CAROL,
      role: `${PACKAGE}::roles::WalletsAdmin`,
      roleBit: 4,
      granted: true,
      signer: CAROL,
      checkpointTimestamp: "1700000005",
    },
    { owner: CAROL, roleBit: 4, granted: false },
  ]);
  expect(data?.none).toEqual([]);
});

test.for([
  ["holderEvents", 'sinceTimestamp: "yesterday"', "sinceTimestamp must be unix seconds"],
  ["holderEvents", 'sinceTimestamp: "-1"', "sinceTimestamp must be unix seconds"],
  ["holderEvents", 'sinceTimestamp: "1.5"', "sinceTimestamp must be unix seconds"],
  ["roleEvents", 'sinceTimestamp: ""', "sinceTimestamp must be unix seconds"],
  ["roleEvents", 'after: "0x5"', "after must be the position"],
  ["roleEvents", "limit: 1001", "limit must be from 1 to 1000"],
  ["holderEvents", "limit: 0", "limit must be from 1 to 1000"],
] as const)("%s(%s) is refused", async ([field, argument, message]) => {
  const { data, errors } = await api.query(
    `{ ${field}(coinType: "0x1::a::A", ${argument}) { eventId } }`,
  );
  expect(data).toEqual({ [field]: null });
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining(message),
      extensions: expect.objectContaining({ code: "BAD_USER_INPUT" }),
    }),
  ]);
});
