/** A coin that a proof of completeness found incomplete is refused like one in quarantine. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { keepProof } from "../audit/complete-proofs.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST, TOKEN } from "./history-rows.ts";
import { ACME } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const MISSING = {
  coinType: ACME,
  objectId: TOKEN,
  version: "17",
  from: "16",
  why: "nothing that was read wrote it",
};
const REASON = `object ${TOKEN}, version 17: ${MISSING.why}`;
const HOLD = { coinType: ACME, pipeline: "completeness", checkpoint: "16", reason: REASON };

const META = "{ _meta { completeThrough } }";
const completeThrough = async () => (await api.query(META)).data?._meta;
const holders = (more: string) =>
  api.query(`{ tokenHolders(coinType: "${ACME}"${more}) { owner balance } }`);

test("every field of an incomplete coin is refused with object and version, from the first checkpoint that may lack a change", async () => {
  const before = await holders(', atCheckpoint: "15"');
  await keepProof(api.database, { through: LAST });
  expect(await completeThrough()).toEqual({ completeThrough: `${LAST}` });
  expect((await holders("")).errors).toBeUndefined();

  await keepProof(api.database, { through: LAST, incomplete: [MISSING] });
  expect(await completeThrough()).toEqual({ completeThrough: "15" });
  const fields = [
    `tokenHolders(coinType: "${ACME}") { owner }`,
    `tokenHolders(coinType: "${ACME}", atCheckpoint: "16") { owner }`,
    `capTable(coinType: "${ACME}") { root }`,
    `token(coinType: "${ACME}") { totalSupply }`,
    `walletRoles(coinType: "${ACME}") { owner }`,
    `tokenActivity(coinType: "${ACME}", limit: 5) { eventId }`,
    `tokenActivity(coinType: "${ACME}", limit: 5, allowStale: true) { eventId }`,
    `balanceChanges(coinType: "${ACME}", allowStale: true) { cursor }`,
    `holderEvents(coinType: "${ACME}", limit: 5) { eventId }`,
  ];
  for (const field of fields) {
    const { errors, text } = await api.query(`{ ${field} }`);
    expect(errors, text).toMatchObject([{ extensions: { code: "QUARANTINED", ...HOLD } }]);
    expect(errors?.[0]?.message).toBe(`${ACME} is incomplete from checkpoint 16 on: ${REASON}`);
  }
  // What was known before the missing change stays known.
  expect((await holders(', atCheckpoint: "15"')).data).toEqual(before.data);
  expect((await holders(", allowStale: true")).data).toEqual(before.data);
  const list = await api.query("{ tokens { coinType } }");
  expect(list.data).toEqual({ tokens: [] });
  expect(JSON.parse(list.text).extensions).toEqual({ quarantined: [HOLD] });
});

/** What is shown of the coin, without times. */
const shownOfAcme = async () => {
  const fields = "coinType state through isSigned missingFrom reason provenAt since";
  const { data } = await api.query(`{ completeness(coinType: "${ACME}") { ${fields} } }`);
  return data?.completeness;
};

test("an incomplete coin's state is answered: what is missing, and through which checkpoint nothing is", async () => {
  const at = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(await shownOfAcme()).toEqual({
    ...{ coinType: ACME, state: "INCOMPLETE", missingFrom: "16", reason: REASON, since: at },
    ...{ through: null, isSigned: false, provenAt: null },
  });
  await keepProof(api.database, { coinType: ACME, through: LAST });
  const complete = {
    ...{ coinType: ACME, state: "COMPLETE", through: `${LAST}`, isSigned: false, provenAt: at },
    ...{ missingFrom: null, reason: null, since: null },
  };
  expect(await shownOfAcme()).toEqual(complete);
  await keepProof(api.database, { coinType: ACME, through: LAST, incomplete: [MISSING] });
  expect(await shownOfAcme()).toEqual({
    ...{ ...complete, state: "INCOMPLETE", through: "15" },
    ...{ missingFrom: "16", reason: REASON, since: at },
  });
  const other = await api.query('{ completeness(coinType: "0x1::a::A") { state through } }');
  expect(other.data).toEqual({ completeness: { state: "NOT_SHOWN", through: null } });
});

test("the newest proof counts, of one coin or of all", async () => {
  const { database } = api;
  await keepProof(database, { coinType: ACME, through: LAST });
  expect((await holders("")).errors).toBeUndefined();
  const many = ["21", "20"].map((from) => ({ ...MISSING, from, version: from }));
  await keepProof(database, { coinType: ACME, through: LAST, incomplete: many });
  const { errors } = await holders("");
  expect(errors?.[0]?.extensions).toMatchObject({
    checkpoint: "20",
    reason: `object ${TOKEN}, version 20: ${MISSING.why}; and 1 more`,
  });
  // A proof of another coin says nothing about this one.
  await keepProof(database, { coinType: "0x1::a::A", through: LAST });
  expect((await holders("")).errors).toHaveLength(1);
  await keepProof(database, { through: LAST });
  expect((await holders("")).errors).toBeUndefined();
  expect(await completeThrough()).toEqual({ completeThrough: `${LAST}` });
});
