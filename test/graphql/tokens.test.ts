import { afterAll, beforeAll, expect, test } from "vitest";
import {
  sharedTokenObjectsWatermark,
  timelockObjectsWatermark,
} from "../../src/projections/balance-progress.ts";
import { holderLifecycleWatermark } from "../../src/projections/holder-events.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { loseWatermark, setFilled } from "../projections/set-watermark.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, addMovements, addTokens, LAST } from "./history-rows.ts";
import { ACME, address, setWatermark, setWatermarks } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const FIELDS =
  "coinType decimals symbol name totalSupply holderCount ownerCount firstCheckpoint" as const;

const TOKEN = {
  coinType: ACME,
  decimals: 6,
  symbol: "ACME",
  name: "Acme Inc.",
  totalSupply: "730",
  holderCount: 2,
  ownerCount: 2,
  firstCheckpoint: "10",
};

test("a token has its name, supply and number of holders, now and at a checkpoint", async () => {
  const ask = async (at: string) => {
    const { data, text } = await api.query(
      `{ token(coinType: "0xACCE::acme::acme"${at}) { ${FIELDS} } }`,
    );
    expect(data, text).toBeDefined();
    return data?.token;
  };
  expect(await ask("")).toEqual(TOKEN);
  const before = { ...TOKEN, totalSupply: "630" };
  expect(await ask(', atCheckpoint: "39"')).toEqual(before);
  expect(await ask(', atTimestamp: "1700000020"')).toEqual(before);
  expect(await ask(', atCheckpoint: "14"')).toEqual({ ...before, holderCount: 1, ownerCount: 1 });
  // Not seen yet.
  expect(await ask(', atCheckpoint: "9"')).toBeNull();
});

test("an unseen coin type is null, and a malformed one is refused", async () => {
  const { data, errors } = await api.query(
    '{ a: token(coinType: "0x1::no::NO") { name } b: token(coinType: "x") { name } }',
  );
  expect(data).toEqual({ a: null, b: null });
  expect(errors).toMatchObject([{ path: ["b"], extensions: { code: "BAD_USER_INPUT" } }]);
});

test("counts are as of the checkpoint that three pipelines have committed, and fail on their own", async () => {
  await setWatermark(api.database, holderLifecycleWatermark, 12n);
  try {
    const { data } = await api.query(`{ token(coinType: "${ACME}") { ownerCount totalSupply } }`);
    expect(data?.token).toEqual({ ownerCount: 1, totalSupply: "730" });
    const { errors } = await api.query(
      `{ token(coinType: "${ACME}", atCheckpoint: "20") { symbol } }`,
    );
    expect(errors).toMatchObject([{ extensions: { code: "NOT_YET_INDEXED" } }]);
  } finally {
    await setWatermarks(api.database, LAST);
  }
});

test("while history is being filled in, tokens not seen since may be missing, so none are listed", async () => {
  await setFilled(api.database, sharedTokenObjectsWatermark, false);
  try {
    const { errors } = await api.query(
      `{ tokens { coinType } token(coinType: "${ACME}") { firstCheckpoint } none: token(coinType: "0x1::no::NO") { name } }`,
    );
    const extensions = { code: "NOT_YET_INDEXED" };
    expect(errors?.map(({ path }) => path?.[0]).toSorted()).toEqual(["none", "token", "tokens"]);
    expect(errors).toMatchObject([{ extensions }, { extensions }, { extensions }]);
  } finally {
    await setFilled(api.database, sharedTokenObjectsWatermark, true);
  }
});

test("tokens are paged by coin type", async () => {
  const others = ["a1", "a2"].map((digits) => `${address(digits)}::other::OTHER`);
  await addTokens(api.database, {
    seen: others.map((coinType) => ({ coinType, firstCheckpoint: 40n })),
    // That alone makes no token.
    named: [{ coinType: `${address("2")}::sui::SUI`, symbol: "SUI", name: "Sui" }],
    supplies: [],
  });
  const seen: unknown[] = [];
  for (let after: string | null = null; ; ) {
    const { data, text }: Awaited<ReturnType<Api["query"]>> = await api.query(
      `query ($after: String) { tokens(limit: 2, after: $after) { ${FIELDS} } }`,
      { after },
    );
    const page = data?.tokens;
    if (!Array.isArray(page)) throw new Error(text);
    seen.push(...page);
    if (page.length < 2) break;
    after = page[1].coinType;
  }
  const bare = { decimals: null, symbol: null, name: null, totalSupply: null };
  expect(seen).toEqual([
    ...others.map((coinType) => ({
      ...bare,
      coinType,
      holderCount: 0,
      ownerCount: 0,
      firstCheckpoint: "40",
    })),
    TOKEN,
  ]);
  const { errors } = await api.query('{ tokens(after: "x") { name } }');
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});

test("_meta has the checkpoint that all five pipelines have committed, with its time and digest", async () => {
  const ask = async () => {
    const { data } = await api.query(
      "{ _meta { checkpoint checkpointTimestamp checkpointDigest chainId firstCheckpoint historyCheckpoint } }",
    );
    return data?._meta;
  };
  const meta = {
    checkpoint: "50",
    checkpointTimestamp: "1700000050",
    checkpointDigest: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]+$/),
    chainId: "c4a1",
    firstCheckpoint: "5",
    historyCheckpoint: "5",
  };
  expect(await ask()).toEqual(meta);
  await setWatermark(api.database, holderLifecycleWatermark, 12n);
  expect(await ask()).toMatchObject({ checkpoint: "12", checkpointTimestamp: "1700000012" });
  await setFilled(api.database, timelockObjectsWatermark, false);
  expect(await ask()).toMatchObject({ checkpoint: "12", historyCheckpoint: "13" });
  await setFilled(api.database, timelockObjectsWatermark, true);
  await loseWatermark(api.database, roleChangesWatermark);
  expect(await ask()).toEqual({
    ...meta,
    checkpoint: null,
    checkpointTimestamp: null,
    checkpointDigest: null,
  });
  await setWatermarks(api.database, LAST);
});

test("_meta is null before anything was read", async () => {
  await using empty = await startApi();
  const { data } = await empty.query(
    "{ _meta { checkpoint chainId firstCheckpoint historyCheckpoint } tokens { name } }",
  );
  const nothing = { checkpoint: null, chainId: null, firstCheckpoint: null };
  expect(data).toEqual({ _meta: { ...nothing, historyCheckpoint: null }, tokens: [] });
  await addMovements(empty.database, ACME);
  const counted = await empty.query(`{ token(coinType: "${ACME}") { holderCount } }`);
  expect(counted.errors).toMatchObject([{ extensions: { code: "NOT_YET_INDEXED" } }]);
});
