import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedTokenObjectsWatermark } from "../../src/projections/balance-progress.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import { ACME, address, setWatermark, setWatermarks } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const POINTS = `query ($coin: String!, $from: String, $to: String, $points: Int) {
  supply(coinType: $coin, from: $from, to: $to, points: $points) { checkpoint checkpointTimestamp totalSupply }
  holderCounts(coinType: $coin, from: $from, to: $to, points: $points) { checkpoint checkpointTimestamp holders owners }
}`;

type Point = Readonly<Record<string, string | number>>;

const ask = async (variables: object = {}) => {
  const { data, text } = await api.query(POINTS, { coin: ACME, ...variables });
  expect(data?.supply, text).toBeDefined();
  const { supply, holderCounts } = Object(data);
  return { supply, holderCounts } as Readonly<Record<string, readonly Point[]>>;
};

const TOKEN = `query ($coin: String!, $at: String!) {
  token(coinType: $coin, atCheckpoint: $at) { totalSupply holderCount ownerCount }
}`;

test("each point is the past answer of its moment", async () => {
  const { supply = [], holderCounts = [] } = await ask({ points: 17 });
  expect(supply.map(({ checkpoint }) => checkpoint)).toEqual([
    ...["10", "12", "15", "17", "20", "22", "25", "27", "30", "32", "35", "37"],
    ...["40", "42", "45", "47", "50"],
  ]);
  for (const [index, { checkpoint, checkpointTimestamp, totalSupply }] of supply.entries()) {
    const { data } = await api.query(TOKEN, { coin: ACME, at: checkpoint });
    const { holders, owners, ...place } = holderCounts[index] ?? {};
    expect(place).toEqual({ checkpoint, checkpointTimestamp });
    expect(checkpointTimestamp).toBe(`${1_700_000_000n + BigInt(checkpoint ?? "")}`);
    expect({ totalSupply, holderCount: holders, ownerCount: owners }).toEqual(data?.token);
  }
});

test("a series keeps to what was asked and to what is known", async () => {
  const places = async (variables: object) =>
    ((await ask(variables)).supply ?? []).map(({ checkpoint }) => checkpoint);
  const ofTwo = { points: 2 };
  expect(await places({ ...ofTwo, from: "1700000020", to: "1700000030" })).toEqual(["20", "30"]);
  expect(await places({ ...ofTwo, from: "0", to: "999999999999999" })).toEqual(["10", `${LAST}`]);
  // As many points as there are seconds.
  expect(await places({ from: "1700000020", to: "1700000022", points: 400 })).toEqual([
    ...["20", "21", "22"],
  ]);
  expect(await places({ to: "1600000000" })).toEqual([]);
  expect(await places({ coin: `${address("77")}::no::ONE` })).toEqual([]);
  await setWatermark(api.database, sharedTokenObjectsWatermark, 25n);
  expect(await places(ofTwo)).toEqual(["10", "25"]);
  await setWatermarks(api.database, LAST);
});

test("a malformed series is refused", async () => {
  for (const variables of [
    ...[{ points: 1 }, { points: 401 }, { from: "x" }, { to: "-1" }],
    { from: "1700000030", to: "1700000020" },
  ]) {
    const { errors } = await api.query(POINTS, { coin: ACME, ...variables });
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual([
      "BAD_USER_INPUT",
      "BAD_USER_INPUT",
    ]);
  }
});
