import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./api.ts";
import { addHistory, GRANT, LAST } from "./history-rows.ts";
import { ACME, ALICE, addHolderEvents, BOB, holderEvent } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  await addHolderEvents(api.database, [
    holderEvent(22n, { eventType: "holder_address_added", holderId: 7n, address: BOB }),
    holderEvent(27n, { eventType: "holder_address_removed", holderId: 7n, address: ALICE }),
    holderEvent(27n, { eventType: "holder_address_added", holderId: 9n, address: ALICE, index: 1 }),
    holderEvent(40n, { eventType: "holder_added", holderId: 8n }),
  ]);
});
afterAll(() => api[Symbol.asyncDispose]());

const CHANGE = `cursor position checkpoint checkpointTimestamp checkpointTimestampMs txDigest wallet cause part
  change totalAfter counterparty counterpartyHolderId`;

const HOLDER = `query ($id: String!, $at: String, $time: String, $limit: Int, $after: String, $order: SortOrder) {
  holder(coinType: "${ACME}", holderId: $id, atCheckpoint: $at, atTimestamp: $time) {
    coinType holderId checkpoint checkpointTimestamp since balance tokens granted unlocked locked share
    wallets { address balance tokens granted groupId isFrozen since }
    grants { objectId leftBalance decimals }
    history(limit: $limit, after: $after, order: $order) { ${CHANGE} }
  }
}`;

const ask = async (variables: Record<string, unknown>) => {
  const { data, text } = await api.query(HOLDER, { id: "7", ...variables });
  expect(data, text).toBeDefined();
  return Object(data).holder;
};

type Change = Readonly<Record<string, string | null>>;

const brief = (rows: readonly Change[]) =>
  rows.map(({ checkpoint, wallet, cause, part, change, totalAfter }) => [
    ...[checkpoint, wallet === ALICE ? "ALICE" : "BOB", cause, part, change, totalAfter],
  ]);

test("a holder is shown with the wallets that it has, as of a checkpoint or its second", async () => {
  const now = await ask({});
  expect(now).toMatchObject({
    ...{ coinType: ACME, holderId: "7", checkpoint: `${LAST}`, since: "1700000010" },
    ...{ balance: "618", tokens: "118", granted: "500", unlocked: "0", locked: "500" },
    share: "0.846575342465",
    wallets: [
      {
        ...{ address: BOB, balance: "618", tokens: "118", granted: "500", groupId: null },
        ...{ isFrozen: false, since: "1700000022" },
      },
    ],
    grants: [{ objectId: GRANT, leftBalance: "500", decimals: 6 }],
  });
  const then = await ask({ at: "20" });
  expect(then).toMatchObject({
    ...{ checkpoint: "20", checkpointTimestamp: "1700000020", balance: "12", grants: [] },
    wallets: [{ address: ALICE, since: "1700000010" }],
  });
  expect(await ask({ time: "1700000020" })).toEqual(then);
  expect((await ask({ id: "9" })).wallets).toMatchObject([{ address: ALICE, balance: "12" }]);
  expect(await ask({ id: "8" })).toMatchObject({ since: null, balance: "0", history: [] });
  expect(await ask({ id: "8", at: "39" })).toBeNull();
  expect(await ask({ id: "10" })).toBeNull();
});

test("its history has the changes of all wallets that it had then, and adds up to its balance", async () => {
  const { history } = await ask({});
  expect(brief(history)).toEqual([
    ["10", "ALICE", "MINT", "TOKENS", "630", "630"],
    ["15", "ALICE", "GRANT_FUNDED", "TOKENS", "-600", "30"],
    ["20", "ALICE", "TRANSFER", "TOKENS", "-18", "12"],
    ["22", "BOB", "WALLET_ADDED", null, "618", "630"],
    ["25", "BOB", "GRANT_CLAIMED", "TOKENS", "100", "730"],
    ["25", "BOB", "GRANT_CLAIMED", "GRANTS", "-100", "630"],
    ["27", "ALICE", "WALLET_REMOVED", null, "-12", "618"],
  ]);
  expect(history[2]).toEqual({
    ...{ cursor: `20000020000:${ALICE}:TOKENS`, position: "20000020000", checkpoint: "20" },
    ...{ checkpointTimestamp: "1700000020", checkpointTimestampMs: "1700000020000" },
    ...{ txDigest: "digest20", wallet: ALICE, cause: "TRANSFER", part: "TOKENS" },
    ...{ change: "-18", totalAfter: "12", counterparty: BOB, counterpartyHolderId: null },
  });
  expect(history[3].txDigest).toBe("digest22");
  expect(history[3].counterparty).toBeNull();
  // A past answer ends at its checkpoint.
  expect((await ask({ at: "22" })).history).toEqual(history.slice(0, 4));
  expect(brief((await ask({ id: "9" })).history)).toEqual([
    ["27", "ALICE", "WALLET_ADDED", null, "12", "12"],
  ]);
});

test("pages in both orders make up the history, with the same totals", async () => {
  const { history } = await ask({});
  for (const [order, whole] of [
    ["ASC", history],
    ["DESC", history.toReversed()],
  ] as const) {
    const rows: Change[] = [];
    for (let page: Change[] = []; ; ) {
      page = (await ask({ order, limit: 2, after: page.at(-1)?.cursor })).history;
      rows.push(...page);
      if (page.length < 2) break;
    }
    expect(rows).toEqual(whole);
  }
});

test("a range of its history has the same totals, whatever its bounds are of", async () => {
  const { history } = await ask({});
  const ranged = async (bounds: string) => {
    const { data, text } = await api.query(`{
      holder(coinType: "${ACME}", holderId: "7") { history(${bounds}) { ${CHANGE} } }
    }`);
    expect(data, text).toBeDefined();
    return Object(data).holder.history;
  };
  const middle = history.slice(1, 4);
  expect(await ranged(`fromCheckpoint: "15", toCheckpoint: "22"`)).toEqual(middle);
  expect(await ranged(`fromTimestamp: "1700000015", toTimestamp: "1700000022"`)).toEqual(middle);
  expect(await ranged(`fromCheckpoint: "11", toTimestamp: "1700000024"`)).toEqual(middle);
  expect(await ranged(`fromTimestamp: "0", toCheckpoint: "999999"`)).toEqual(history);
  expect(await ranged(`fromTimestamp: "1900000000"`)).toEqual([]);
  expect(await ranged(`toCheckpoint: "9"`)).toEqual([]);
  const { errors } = await api.query(
    `{ holder(coinType: "${ACME}", holderId: "7") { history(fromCheckpoint: "x") { cursor } } }`,
  );
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});

test("a malformed holder or cursor is refused", async () => {
  for (const variables of [
    { id: "x" },
    { id: "1".repeat(21) },
    { after: "1" },
    { after: `1:${BOB}:OTHER` },
    { after: "1:0xg:TOKENS" },
    { limit: 1001 },
  ]) {
    const { errors } = await api.query(HOLDER, { id: "7", ...variables });
    expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
  }
});
