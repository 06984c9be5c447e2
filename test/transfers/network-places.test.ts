/** The place of a network in its project's ids: kept for good, told when the file has another order. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { registerScope } from "../../src/transfers/progress.ts";
import { type Anvil, startAnvil } from "../evm/anvil.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type EvmAsset, evmAsset, index, serve, waitFor } from "../rest/service.ts";

let chains: readonly Anvil[];
let tokens: readonly EvmAsset[];
let database: TestDatabase;

beforeEach(async () => {
  chains = await Promise.all([31_337, 31_338].map((chainId) => startAnvil({ chainId })));
  tokens = await Promise.all(
    chains.map(async (chain, n) => {
      const { address } = await chain.deploy("SecurityTokenV4", ["Acme", "ACME", 6, 100 + n]);
      const network = `chain_${chain.chainId}`;
      return evmAsset({ address, chainId: chain.chainId, rpc: [chain.url], network });
    }),
  );
  database = await freshDatabase({ max: 16 });
});

afterEach(async () => {
  await Promise.all(chains.map((chain) => chain.stop()));
  await database.close();
});

const acme = (...listed: readonly EvmAsset[]) => [{ name: "acme", tokens: [...listed] }];

const warnings = (logged: readonly string[]) =>
  logged.filter((line) => line.includes("the ids of acme count"));

test("a network inserted before the others keeps their ids, and is reported with a remedy", async () => {
  const [first, second] = tokens;
  if (first === undefined || second === undefined) throw new Error("two chains, two tokens");
  await using api = await serve(database, acme(second, first));
  {
    await using indexing = await index(database, acme(first));
    await api.until(({ length }) => length === 1);
    expect(warnings(indexing.logged)).toEqual([]);
  }
  const before = await api.list();
  {
    await using indexing = await index(database, acme(second, first));
    const both = await api.until(({ length }) => length === 2);
    expect(both).toContainEqual(before[0]);
    const [warning, ...more] = warnings(indexing.logged);
    expect(more).toEqual([]);
    expect(warning).toContain("count its networks as chain_31337, chain_31338");
    expect(warning).toContain("lists chain_31338, chain_31337");
    expect(warning).toContain("a new network after the others");
  }
  await using indexing = await index(database, acme(first, second));
  await waitFor(
    () => [...indexing.statuses.values()].map(({ state }) => state),
    (states) => states.length === 2 && states.every((state) => state === "running"),
  );
  expect(warnings(indexing.logged)).toEqual([]);
});

test("an eleventh network is refused with a remedy, even if fewer are listed now", async () => {
  for (let chainId = 1; chainId <= 10; chainId += 1) {
    await database.transaction((tx) => registerScope(tx, { project: "acme", chainId }, 0n));
  }
  const [token] = tokens;
  if (token === undefined) throw new Error("a token");
  await using indexing = await index(database, acme(token));
  const [status] = await waitFor(
    () => [...indexing.statuses.values()],
    ([seen]) => seen?.state === "stopped",
    (seen) => seen.map(({ state, reason }) => `${state}: ${reason}`),
  );
  expect(status?.reason).toContain("this one is number 11");
  expect(status?.reason).toContain("list its tokens in a project of another name");

  // What it says to do is done.
  const beta = [{ name: "beta", tokens: [token] }];
  await using api = await serve(database, beta);
  await indexing[Symbol.asyncDispose]();
  await using _again = await index(database, beta);
  await api.until(({ length }) => length === 1);
});
