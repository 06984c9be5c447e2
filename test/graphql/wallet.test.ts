import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedTokenObjectsWatermark } from "../../src/projections/balance-progress.ts";
import { STILL_OPEN } from "../../src/projections/ranges.ts";
import { setHeld } from "../projections/set-watermark.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, addMovements, LAST } from "./history-rows.ts";
import { ACME, ALICE, addHolderEvents, address, BOB, CAROL } from "./rows.ts";

const OTHER = `${address("07")}::other::OTHER`;

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  await addMovements(api.database, OTHER);
  const open = { coinType: ACME, checkpoint: 16n, until: STILL_OPEN };
  await addHolderEvents(
    api.database,
    [],
    [
      { ...open, address: BOB, aspect: "freeze", value: 1n, until: 26n },
      { ...open, address: CAROL, aspect: "group", value: 3n },
    ],
  );
});
afterAll(() => api[Symbol.asyncDispose]());

const WALLET = `query ($address: String!, $at: String, $time: String, $stale: Boolean, $limit: Int, $after: String) {
  wallet(address: $address, atCheckpoint: $at, atTimestamp: $time, allowStale: $stale) {
    address checkpoint checkpointTimestamp
    tokens(limit: $limit, after: $after) {
      coinType decimals symbol name balance tokens granted holderId groupId isFrozen roles roleBits
    }
  }
}`;

const ask = async (variables: Record<string, unknown>) => {
  const { data, text } = await api.query(WALLET, variables);
  expect(data, text).toBeDefined();
  return { ...Object(data).wallet, extensions: JSON.parse(text).extensions };
};

const ADMIN = { roles: [expect.stringMatching(/::roles::ContractAdmin$/)], roleBits: 1 };

const inToken = (tokens: number, granted: number, more: object = {}, coinType = ACME) => ({
  ...{ coinType, decimals: 6, symbol: "ACME", name: "Acme Inc." },
  ...{ balance: `${tokens + granted}`, tokens: `${tokens}`, granted: `${granted}` },
  ...{ holderId: null, groupId: null, isFrozen: false, roles: [], roleBits: 0, ...more },
});

test("a wallet is shown with all its tokens, as of a checkpoint or its second", async () => {
  const ofAlice = [OTHER, ACME].map((coinType) =>
    inToken(12, 0, { holderId: "7", ...ADMIN }, coinType),
  );
  const at = await ask({ address: ALICE, at: "20" });
  expect(at).toMatchObject({
    ...{ address: ALICE, checkpoint: "20", checkpointTimestamp: "1700000020" },
    tokens: ofAlice,
  });
  expect(
    await ask({ address: ALICE.toUpperCase().replace("0X", "0x"), time: "1700000020" }),
  ).toEqual(at);
  expect((await ask({ address: ALICE, at: "9" })).tokens).toEqual([]);
  expect(await ask({ address: ALICE })).toMatchObject({
    checkpoint: `${LAST}`,
    tokens: [{ roles: [] }, { roles: [] }],
  });
  expect((await ask({ address: BOB, at: "20" })).tokens[1]).toEqual(
    inToken(18, 600, { isFrozen: true }),
  );
  expect((await ask({ address: BOB, at: "26" })).tokens[1]).toEqual(inToken(118, 500));
});

test("a wallet without a balance is shown in the coins whose register names it", async () => {
  expect((await ask({ address: CAROL })).tokens).toEqual([inToken(0, 0, { groupId: "3" })]);
  expect((await ask({ address: address("dead") })).tokens).toEqual([]);
});

test("pages of a wallet's tokens make up the list", async () => {
  const { tokens } = await ask({ address: BOB });
  const first = await ask({ address: BOB, limit: 1 });
  const second = await ask({ address: BOB, limit: 1, after: first.tokens[0].coinType });
  expect([...first.tokens, ...second.tokens]).toEqual(tokens);
  const { errors } = await api.query(WALLET, { address: "0xg" });
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});

test("of a wallet that left thousands of tokens an answer reads a bounded part, and says how to go on", async () => {
  const dave = address("da7e");
  const coins = Array.from(
    { length: 10_001 },
    (_, at) => `${address("0c")}::c${`${at}`.padStart(5, "0")}::C`,
  );
  const left = { address: dave, aspect: "freeze", value: 1n, checkpoint: 16n, until: 17n } as const;
  await addHolderEvents(
    api.database,
    [],
    coins.map((coinType) => ({
      ...left,
      coinType,
      until: coinType === coins[10_000] ? STILL_OPEN : 17n,
    })),
  );
  const refused = async (variables: object) => {
    const { errors } = await api.query(WALLET, { address: dave, ...variables });
    return String(Object(errors?.[0]).message);
  };
  const [last] = coins.slice(9_999);
  expect(await refused({})).toContain(`go on with after: "${last}"`);
  expect((await ask({ address: dave, after: last })).tokens).toMatchObject([
    { coinType: coins[10_000], isFrozen: true },
  ]);
  expect(await refused({ stale: true })).toMatch(/^allowStale: .*give atCheckpoint$/);
});

test("a coin in quarantine is left out and named, and allowStale goes back to before it", async () => {
  await setHeld(api.database, sharedTokenObjectsWatermark, OTHER, { from: 25n, reason: "damaged" });
  const now = await ask({ address: BOB });
  expect(now).toMatchObject({ checkpoint: `${LAST}`, tokens: [{ coinType: ACME }] });
  expect(now.extensions.quarantined).toMatchObject([{ coinType: OTHER, checkpoint: "25" }]);
  expect((await ask({ address: BOB, at: "24" })).tokens).toHaveLength(2);
  expect(await ask({ address: BOB, stale: true })).toMatchObject({
    checkpoint: "24",
    tokens: [{ coinType: OTHER }, { coinType: ACME }],
  });
  expect(await ask({ address: CAROL, stale: true })).toMatchObject({ checkpoint: `${LAST}` });
});
