/** Ranges find what a provider allows, whatever it limits and however it says so. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { adaptiveRange } from "../../src/evm/rpc/logs.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { type Call, type ProxySettings, Refusal, startProxy } from "./proxy.ts";
import { batchesUpTo, networkOf, quickRpc } from "./reading.ts";

let chain: Anvil;
let token: Deployed;
let head: bigint;

beforeAll(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  for (let i = 1; i <= 40; i += 1) {
    await chain.send(token, "transfer", [chain.wallet(i % 9), i]);
    await chain.client.mine({ blocks: 9 });
  }
  head = await chain.client.getBlockNumber();
});

afterAll(() => chain.stop());

const blocksOf = (call: Call): number => {
  const filter: { fromBlock?: string; toBlock?: string } = Object(call.params[0]);
  return filter.toBlock === undefined
    ? 1
    : Number(BigInt(filter.toBlock) - BigInt(filter.fromBlock ?? 0)) + 1;
};

const onLogs = (refuse: (blocks: number, result: readonly unknown[], call: Call) => unknown) =>
  ({
    answer: (call, result) =>
      call.method === "eth_getLogs" && Array.isArray(result)
        ? (refuse(blocksOf(call), result, call) ?? result)
        : result,
  }) satisfies ProxySettings;

const providers: readonly [what: string, settings: ProxySettings][] = [
  [
    "a largest range",
    onLogs((blocks) => (blocks > 50 ? new Refusal(-32000, "block range is too wide") : undefined)),
  ],
  [
    "a largest number of results",
    onLogs((_, result) =>
      result.length > 12 ? new Refusal(-32005, "query returned more than 12 results") : undefined,
    ),
  ],
  [
    "a largest range, proposing another",
    onLogs((blocks, _, call) => {
      const { fromBlock = "0x0" }: { fromBlock?: string } = Object(call.params[0]);
      const to = BigInt(fromBlock) + 19n;
      return blocks > 20
        ? new Refusal(
            -32602,
            `Log response size exceeded. Based on your parameters, this block range should work: [${fromBlock}, 0x${to.toString(16)}]`,
          )
        : undefined;
    }),
  ],
  [
    "the size of what one HTTP request asks, by a 413",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 64)
          ? { status: 413 }
          : undefined,
    },
  ],
  [
    "the time a question takes, by not answering",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 100)
          ? "never"
          : undefined,
    },
  ],
  [
    "what it can bear, by a 500",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 70)
          ? { status: 500, body: "internal error" }
          : undefined,
    },
  ],
  [
    "what it can bear, by a 400 with a plain text",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 70)
          ? { status: 400, body: "query exceeds max block range" }
          : undefined,
    },
  ],
  [
    "what it can bear, by a 503",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 70)
          ? { status: 503, headers: { "content-type": "text/plain" }, body: "try less" }
          : undefined,
    },
  ],
  [
    "what it can bear, by closing the connection",
    {
      http: (calls) =>
        calls.some((call) => call.method === "eth_getLogs" && blocksOf(call) > 70)
          ? "cut"
          : undefined,
    },
  ],
  [
    "batches, answering them with one error",
    {
      http: (calls) =>
        calls.length > 3
          ? {
              status: 200,
              body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}',
            }
          : undefined,
    },
  ],
];

test.for(providers)("a provider that limits %s still returns every log", async ([, settings]) => {
  await using proxy = await startProxy(chain.url, settings);
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4" },
  ]);
  const batches = await batchesUpTo(network, head, {
    rpc: quickRpc(network, network.rpc, { timeoutMs: 1_000, attempts: 6 }),
    range: { first: 1_000, most: 10_000, logs: 1_000 },
  });
  const whole = await batchesUpTo({ ...network, rpc: [chain.url] }, head, {
    rpc: quickRpc(network, [chain.url]),
  });
  expect(batches.flatMap(({ facts }) => facts)).toEqual(whole.flatMap(({ facts }) => facts));
});

test("all tokens of a chain share one request", async () => {
  await using proxy = await startProxy(chain.url);
  const second = await chain.deploy("SecurityTokenV4", ["Beta Shares", "BETA", 0, 500]);
  const type = "comakery_security_token_v4";
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type },
    { address: second.address, type },
  ]);
  const batches = await batchesUpTo(network, await chain.client.getBlockNumber());
  const addresses = proxy.calls
    .filter((call) => call.method === "eth_getLogs" && blocksOf(call) > 1)
    .map((call): unknown => Object(call.params[0]).address);
  expect(addresses.length).toBeGreaterThan(1);
  for (const asked of addresses) expect(asked).toEqual([token.address, second.address]);
  expect(new Set(batches.flatMap(({ facts }) => facts.map((fact) => fact.token))).size).toBe(2);
});

test("a range grows to just below the refused size and stays there", () => {
  const range = adaptiveRange({ first: 10, most: 1_000_000, logs: 10_000 });
  let refusals = 0;
  for (let i = 0; i < 60; i += 1) {
    const blocks = range.size();
    if (blocks > 2_000) {
      refusals += 1;
      range.refused({ blocks });
    } else range.answered(blocks, 10);
  }
  expect(range.size()).toBeGreaterThan(1_700);
  expect(range.size()).toBeLessThanOrEqual(2_000);
  expect(refusals).toBeLessThan(8);
});

test("a range shrunk by an outage soon grows again", () => {
  const range = adaptiveRange({ first: 1_000, most: 100_000, logs: 500 });
  for (let i = 0; i < 12; i += 1) range.refused({ blocks: range.size(), doubtful: true });
  expect(range.size()).toBe(1);
  for (let i = 0; i < 40; i += 1) range.answered(range.size(), 0);
  expect(range.size()).toBe(100_000);
});

test("a range adapts to the density of logs, both ways", () => {
  const range = adaptiveRange({ first: 1_000, most: 100_000, logs: 500 });
  range.answered(1_000, 5_000);
  expect(range.size()).toBe(100);
  for (let i = 0; i < 12; i += 1) range.answered(range.size(), 0);
  expect(range.size()).toBe(100_000);
});

test("a range of one block is never split, and a proposed size is used", () => {
  const range = adaptiveRange({ first: 8, most: 100, logs: 10 });
  for (let i = 0; i < 9; i += 1) range.refused({ blocks: range.size() });
  expect(range.size()).toBe(1);
  const other = adaptiveRange({ first: 5_000, most: 100_000, logs: 10 });
  other.refused({ blocks: 5_000, hint: 777 });
  expect(other.size()).toBe(777);
});
