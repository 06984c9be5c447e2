import { afterAll, beforeAll, expect, test } from "vitest";
import { timelockObjectsWatermark } from "../../src/projections/balance-progress.ts";
import { loseWatermark, setFilled } from "../projections/set-watermark.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import { ACME, ALICE, BOB, setWatermark, setWatermarks } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const CHANGES = `query ($coin: String!, $owner: String, $after: String, $limit: Int, $order: SortOrder) {
  balanceChanges(coinType: $coin, owner: $owner, after: $after, limit: $limit, order: $order) {
    position checkpoint checkpointTimestamp txDigest owner part cause change balanceAfter cursor
  }
}`;

const changes = async (variables: Record<string, unknown> = {}) => {
  const { data, text } = await api.query(CHANGES, { coin: ACME, ...variables });
  const rows = data?.balanceChanges;
  if (!Array.isArray(rows)) throw new Error(text);
  return rows;
};

test("every movement is listed with its cause, in chain order, tokens before grants", async () => {
  const all = await changes();
  expect(
    all.map(({ checkpoint, owner, part, cause, change, balanceAfter }) => [
      checkpoint,
      owner,
      part,
      cause,
      change,
      balanceAfter,
    ]),
  ).toEqual([
    ["10", ALICE, "TOKENS", "MINT", "630", "630"],
    ["15", BOB, "GRANTS", "GRANT_FUNDED", "600", "600"],
    ["15", ALICE, "TOKENS", "GRANT_FUNDED", "-600", "30"],
    ["20", BOB, "TOKENS", "TRANSFER", "18", "18"],
    ["20", ALICE, "TOKENS", "TRANSFER", "-18", "12"],
    ["25", BOB, "TOKENS", "GRANT_CLAIMED", "100", "118"],
    ["25", BOB, "GRANTS", "GRANT_CLAIMED", "-100", "500"],
  ]);
  expect(all[0]).toMatchObject({
    position: "10000020000",
    checkpointTimestamp: "1700000010",
    txDigest: "digest10",
    cursor: `10000020000:${ALICE}:TOKENS`,
  });
});

test("pages of any length, in either order and per owner, contain each movement once", async () => {
  for (const order of ["ASC", "DESC"]) {
    for (const owner of [null, BOB, "0xB0B"]) {
      const all = await changes({ order, owner });
      expect(all).toHaveLength(owner === null ? 7 : 4);
      for (const limit of [1, 2, 3]) {
        const paged = [];
        for (let after: string | null = null; ; after = paged.at(-1)?.cursor ?? null) {
          const page = await changes({ order, owner, limit, after });
          paged.push(...page);
          if (page.length < limit) break;
        }
        expect(paged).toEqual(all);
      }
    }
  }
});

test("rows that one of the balance pipelines has not committed are not served", async () => {
  await setWatermark(api.database, timelockObjectsWatermark, 24n);
  expect(await changes()).toHaveLength(5);
  // As while a rebuild begins.
  await loseWatermark(api.database, timelockObjectsWatermark);
  expect(await changes()).toEqual([]);
  await setWatermarks(api.database, LAST);
  expect(await changes({ coin: "0x1::never::SEEN" })).toEqual([]);
});

test("while history is being filled in, movements are reported as not indexed yet", async () => {
  await setFilled(api.database, timelockObjectsWatermark, false);
  const { errors } = await api.query(CHANGES, { coin: ACME });
  await setFilled(api.database, timelockObjectsWatermark, true);
  expect(errors).toMatchObject([{ extensions: { code: "NOT_YET_INDEXED" } }]);
});

test.for(["x", "1:0x1", "1:0x1:tokens", "1:0x1:TOKENS:", `1:y:GRANTS`, `${2n ** 63n}:0x1:TOKENS`])(
  "the cursor %s is refused",
  async (after) => {
    const { errors } = await api.query(CHANGES, { coin: ACME, after });
    expect(errors).toMatchObject([
      { message: expect.stringContaining("after"), extensions: { code: "BAD_USER_INPUT" } },
    ]);
  },
);
