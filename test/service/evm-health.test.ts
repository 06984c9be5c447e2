/** What the health report and the metrics tell of EVM chains, by running them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchHealth } from "../../src/http/health/health.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { type EvmService, evmReading } from "../../src/service/evm.ts";
import { evmDetails, evmGauges } from "../../src/service/health/evm-health.ts";
import { projectsOf } from "../../src/transfers/projects.ts";
import { ageNotes } from "../evm/age-notes.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { reorganise } from "../evm/following.ts";
import { startProxy } from "../evm/proxy.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type EvmAsset, evmAsset, index, waitFor } from "../rest/service.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;

beforeEach(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  database = await freshDatabase({ max: 8 });
});

afterEach(async () => {
  await chain.stop();
  await database.close();
});

const pay = (wallet: number, amount: number) =>
  chain.send(token, "transfer", [chain.wallet(wallet), amount]);

const asset = (members: Partial<EvmAsset> = {}) =>
  evmAsset({ address: token.address, chainId: chain.chainId, rpc: [chain.url], ...members });

const project = (...tokens: readonly EvmAsset[]) => ({ name: "acme", tokens: [...tokens] });

/** Looks at the one chain, now or so many seconds later. */
const watching = (tokens: readonly EvmAsset[], local?: EvmService) => {
  const projects = projectsOf({ projects: [project(...tokens)] });
  const reading = local && ((nowMs: number) => evmReading(local, nowMs));
  const details = evmDetails({ db: database.db, projects, local: reading });
  return async (later = 0) => {
    const { state, members } = await details(Date.now() + later * 1_000);
    const [seen] = members.evm.chains;
    if (seen === undefined) throw new Error("there is no chain in the report");
    return { overall: state, ...seen };
  };
};

/** Samples of a metric. */
const metric = async (tokens: readonly EvmAsset[], local: EvmService, name: string) => {
  const projects = projectsOf({ projects: [project(...tokens)] });
  await using health = watchHealth({
    progress: async () => ({ pipelines: [], reader: { next: null, mark: null, tip: null } }),
    details: evmDetails({
      db: database.db,
      projects,
      local: (nowMs) => evmReading(local, nowMs),
    }),
    version: "1",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const metrics = createMetrics(health);
  evmGauges(metrics.registry, health);
  const { body } = await metrics.text();
  return body.split("\n").filter((line) => line.startsWith(`holderbook_${name}{`));
};

const atHead = async (look: ReturnType<typeof watching>) => {
  const head = await chain.client.getBlockNumber();
  await waitFor(
    look,
    ({ nextBlock }) => nextBlock === `${head + 1n}`,
    (seen) => JSON.stringify(seen),
  );
};

test("a token no longer configured holds up its chain in no report", async () => {
  const second = await chain.deploy("SecurityTokenV4", ["Beta Shares", "BETA", 0, 500]);
  const both = [asset(), asset({ address: second.address })];
  {
    await using indexing = await index(database, [project(...both)]);
    await atHead(watching(both, indexing));
  }
  for (let i = 1; i <= 3; i += 1) await pay(i, i);
  const one = [asset()];
  await using indexing = await index(database, [project(...one)]);
  const look = watching(one, indexing);
  await atHead(look);
  expect(await look(100)).toMatchObject({ state: "ok" });

  // Where it is still configured, it is not read; blocks are what is counted.
  const other = watching(both);
  await other();
  expect(await other(100)).toMatchObject({
    overall: "stalled",
    state: "stalled",
    reason: "3 blocks behind; no progress for 100 s",
  });
});

test("an RPC that lies beside an honest one is named in the report, the metrics and once in the log", async () => {
  await using liar = await startProxy(chain.url, {
    answer: ({ method, params }, result) =>
      method === "eth_getLogs" && !JSON.stringify(params).includes("blockHash") ? [] : result,
  });
  const tokens = [asset({ rpc: [`${liar.url}/v2/SECRET-KEY`, chain.url] })];
  await using indexing = await index(database, [project(...tokens)]);
  const look = watching(tokens, indexing);
  /** Looks while it has something to lie about: it is used again after each pause, and is good until it lies again. */
  const whileLying = <T>(looked: () => Promise<T>, wanted: (seen: T) => boolean): Promise<T> =>
    waitFor(
      async () => {
        await pay(1, 1);
        return looked();
      },
      wanted,
      (seen) => JSON.stringify(seen),
    );
  const { endpoints, state } = await whileLying(
    look,
    ({ endpoints: [first] }) => first !== undefined && first.failures >= 3,
  );
  expect(state).toBe("ok");
  expect(endpoints).toMatchObject([
    {
      endpoint: liar.url,
      state: "paused",
      lastError: {
        name: "LyingRpcError",
        kind: "missing logs",
        message: expect.stringContaining("untrue answer"),
        secondsAgo: expect.any(Number),
      },
    },
    { endpoint: chain.url, state: "good", failures: 0, lastError: null },
  ]);
  const labels = `chain="31337",network="local"`;
  const usable = await whileLying(
    () => metric(tokens, indexing, "evm_endpoint_usable"),
    ([first]) => first?.endsWith(" 0") === true,
  );
  expect(usable).toEqual([
    `holderbook_evm_endpoint_usable{${labels},endpoint="${liar.url}"} 0`,
    `holderbook_evm_endpoint_usable{${labels},endpoint="${chain.url}"} 1`,
  ]);
  const told = indexing.logged.filter((line) => line.includes("is set aside"));
  expect(told).toHaveLength(1);
  expect(told.join()).toContain(`"endpoint":"${liar.url}"`);
  expect(indexing.logged.join() + JSON.stringify(endpoints)).not.toContain("SECRET");
});

test("an RPC that requests an hour's pause is reported at once", async () => {
  let limited = false;
  await using proxy = await startProxy(chain.url, {
    http: () => (limited ? { status: 429, headers: { "retry-after": "3600" } } : undefined),
  });
  const tokens = [asset({ rpc: [proxy.url] })];
  await using indexing = await index(database, [project(...tokens)]);
  const look = watching(tokens, indexing);
  await atHead(look);
  limited = true;
  await waitFor(
    () => indexing.troubles.get(chain.chainId)?.reason ?? "",
    (reason) => reason === `${proxy.url}: asks for fewer requests (HTTP 429)`,
  );
  await look();
  expect(await look(60)).toMatchObject({
    state: "stalled",
    reason: `1 block behind; no progress for 60 s: ${proxy.url}: asks for fewer requests (HTTP 429)`,
    endpoints: [{ state: "paused", lastError: { kind: "rate limit" } }],
  });
});

test("a process that does not read a chain reports its RPC as dead, with the reason, and when nobody reads it any more", async () => {
  let isDead = false;
  await using proxy = await startProxy(chain.url, {
    http: () => (isDead ? { status: 503 } : undefined),
  });
  const tokens = [asset({ rpc: [proxy.url] })];
  const serving = watching(tokens);
  expect(await serving()).toMatchObject({
    endpoints: [],
    warnings: [expect.stringMatching(/^never read: /)],
  });
  {
    await using indexing = await index(database, [project(...tokens)]);
    await atHead(serving);
    await waitFor(
      serving,
      ({ endpoints }) => endpoints[0]?.state === "good",
      (seen) => JSON.stringify(seen),
    );
    // Nor does one know more that only stands by.
    await using standby = await index(database, [project(...tokens)]);
    const besides = watching(tokens, standby);
    expect(await besides()).toMatchObject({ state: "ok", endpoints: [{ state: "good" }] });
    isDead = true;
    await waitFor(
      () => indexing.troubles.size,
      (troubles) => troubles === 1,
    );
    for (const look of [serving, besides]) {
      await waitFor(
        look,
        ({ endpoints }) => endpoints[0]?.state === "paused",
        (seen) => JSON.stringify(seen),
      );
      expect(await look(60)).toMatchObject({
        overall: "stalled",
        state: "stalled",
        reason: `1 block behind; no progress for 60 s: ${proxy.url}: HTTP 503`,
        endpoints: [{ endpoint: proxy.url, state: "paused", lastError: { kind: "status" } }],
        warnings: [],
      });
    }
  }
  await ageNotes(database, "90 s");
  const { endpoints, warnings } = await serving();
  expect({ endpoints, warnings }).toEqual({
    endpoints: [],
    warnings: [expect.stringMatching(/^not read for 9\d s: no process reads it \(start, index\)$/)],
  });
});

test("a process that does not read a chain reports that its reader gave up, however long ago", async () => {
  const tokens = [asset({ fromBlock: 1 })];
  const serving = watching(tokens);
  {
    await using _indexing = await index(database, [project(...tokens)]);
    await atHead(serving);
  }
  {
    // Facts before those that the log has are not read any more.
    await using indexing = await index(database, [project(asset({ fromBlock: 0 }))]);
    await waitFor(
      () => indexing.troubles.get(chain.chainId)?.gaveUp,
      (gaveUp) => gaveUp === true,
    );
  }
  await ageNotes(database, "1 day");
  expect(await serving()).toMatchObject({
    state: "stalled",
    reason: expect.stringMatching(/^gave up: chain 31337, token 0x\w+: .* differs from what its/),
  });
});

test("a chain that replaced final blocks is reported, counted and logged", async () => {
  const tokens = [asset({ finality: 2 })];
  await using indexing = await index(database, [project(...tokens)]);
  const look = watching(tokens, indexing);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(look);
  expect(await look()).toMatchObject({ finalReplaced: null });
  await reorganise(chain, token, 5, 9, 99);
  await pay(1, 1);
  const { finalReplaced } = await waitFor(
    look,
    (seen) => seen.finalReplaced !== null,
    (seen) => JSON.stringify(seen),
  );
  expect(finalReplaced).toEqual({
    times: 1,
    toBlock: "4",
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  expect(await metric(tokens, indexing, "evm_final_blocks_replaced")).toEqual([
    'holderbook_evm_final_blocks_replaced{chain="31337",network="local"} 1',
  ]);
  const told = indexing.logged.filter((line) => line.includes("replaced blocks that were final"));
  expect(told).toHaveLength(1);
});

test("an old head is a warning, sooner where validators vote, and never a stall", async () => {
  const tokens = [asset()];
  await using indexing = await index(database, [project(...tokens)]);
  const look = watching(tokens, indexing);
  await atHead(look);
  expect(await look(1_200)).toMatchObject({ state: "ok", warnings: [] });
  expect(await look(4_000)).toMatchObject({
    state: "ok",
    warnings: [expect.stringMatching(/^no block for \d+ s: either the chain is quiet/)],
  });
  expect((await watching([asset({ finality: "finalized" })])(1_200)).warnings).toHaveLength(1);
});

test("a head far ahead of the clock is a warning", async () => {
  const tokens = [asset()];
  await using indexing = await index(database, [project(...tokens)]);
  const look = watching(tokens, indexing);
  await chain.client.increaseTime({ seconds: 3_000 });
  await pay(1, 1);
  await atHead(look);
  expect(await look()).toMatchObject({ warnings: [] });
  await chain.client.increaseTime({ seconds: 3_000 });
  await pay(1, 1);
  const seen = await waitFor(
    look,
    ({ warnings }) => warnings.length > 0,
    (it) => JSON.stringify(it),
  );
  expect(seen.warnings).toEqual([
    expect.stringMatching(/^the newest block is \d{4} s ahead of this machine's clock/),
  ]);
});

test("a token whose logs do not add up to its supply is a warning, logged once", async () => {
  await pay(1, 1);
  const { blockNumber } = await chain.send(token, "mint", [chain.wallet(2), 77]);
  await chain.client.mine({ blocks: 100 });
  const hidden = `0x${blockNumber.toString(16)}`;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method }, result) =>
      method === "eth_getLogs" && Array.isArray(result)
        ? result.filter((log) => log.blockNumber !== hidden)
        : result,
  });
  const tokens = [asset({ rpc: [proxy.url] })];
  const check = { everyMs: 50, confirmMs: 5 };
  await using indexing = await index(database, [project(...tokens)], { check });
  const look = watching(tokens, indexing);
  expect((await look()).warnings).toEqual([expect.stringMatching(/^never read: /)]);
  const { warnings, state } = await waitFor(
    look,
    (seen) => seen.headBlock !== null && seen.warnings.length > 0,
    (seen) => JSON.stringify(seen),
  );
  expect(state).toBe("ok");
  expect(warnings).toEqual([
    expect.stringContaining(
      "its logs give a supply of 1000000 (minted less burned), its totalSupply() 1000077",
    ),
  ]);
  const asked = proxy.calls.length;
  await waitFor(
    () => proxy.calls.slice(asked).filter(({ method }) => method === "eth_call").length,
    (checks) => checks >= 4,
  );
  expect(
    indexing.logged.filter((line) => line.includes("a token's log does not match")),
  ).toHaveLength(1);
});
