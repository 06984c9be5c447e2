/** Providers with a budget of calls, or a smallest taste for batches, are read at the pace they allow. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openFleet } from "../../src/evm/rpc/fleet.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { type Call, type ProxySettings, Refusal, startProxy } from "./proxy.ts";
import { batchesUpTo, DEADLINE_MS, networkOf, quickRpc } from "./reading.ts";

let chain: Anvil;
let token: Deployed;

beforeAll(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  for (let i = 1; i <= 9; i += 1) {
    await chain.send(token, "transfer", [chain.wallet(i), i]);
    await chain.client.mine({ blocks: 9 });
  }
});

afterAll(() => chain.stop());

const headers = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    method: "eth_getBlockByNumber",
    params: [`0x${i.toString(16)}`, false],
  }));

const numbersIn = (blocks: readonly unknown[]) =>
  blocks.map((block) => Number(Object(block).number));

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

/** In place of the second that budgets are usually counted by. */
const PERIOD_MS = 250;

/** So many calls a period; a request that asks for more than are left is refused whole. */
const bucketOf = (calls: number) => {
  let left = calls;
  let filledAt = performance.now();
  const seen = { refused: 0 };
  const http: ProxySettings["http"] = (asked) => {
    const now = performance.now();
    left = Math.min(calls, left + ((now - filledAt) * calls) / PERIOD_MS);
    filledAt = now;
    if (asked.length <= left) {
      left -= asked.length;
      return undefined;
    }
    seen.refused += 1;
    return { status: 429, headers: { "retry-after": `${PERIOD_MS / 1_000}` } };
  };
  return { http, seen };
};

test.for([50, 1])(
  "with a budget of %d calls a period a provider is read, and answered calls are not repeated",
  async (budget) => {
    const { http, seen } = bucketOf(budget);
    const passed: Call[] = [];
    await using proxy = await startProxy(chain.url, {
      http,
      answer: (call, result) => {
        passed.push(call);
        return result;
      },
    });
    const rpc = openFleet(chain.chainId, [proxy.url], { pauseMs: 20 });
    const count = budget === 1 ? 3 : 65;
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const blocks = await rpc.use((endpoint) => endpoint.batch(headers(count), signal), signal);
    expect(numbersIn(blocks)).toEqual(upTo(count));
    const asked = passed.filter(({ method }) => method === "eth_getBlockByNumber");
    expect(asked.length).toBe(count);
    expect(seen.refused).toBeLessThan(14);
  },
);

test("a chain is read within a budget of 50 calls a period, over one endpoint or two", async () => {
  const one = bucketOf(50);
  const two = bucketOf(50);
  await using first = await startProxy(chain.url, { http: one.http });
  await using second = await startProxy(chain.url, { http: two.http });
  const head = await chain.client.getBlockNumber();
  for (const urls of [[first.url], [first.url, second.url]]) {
    const network = networkOf(urls, chain.chainId, [
      { address: token.address, type: "comakery_security_token_v4" },
    ]);
    const rpc = openFleet(chain.chainId, urls, { pauseMs: 20 });
    const batches = await batchesUpTo(network, head, { rpc });
    expect(batches.flatMap(({ facts }) => facts).length).toBeGreaterThan(9);
  }
  expect(one.seen.refused).toBeGreaterThan(0);
});

test("an endpoint that asked for a pause gets none until then, and one request at a time afterwards", async () => {
  const arrivals: { readonly at: number; readonly underWay: number }[] = [];
  const underWay = new Set<unknown>();
  let refusedAt = Number.POSITIVE_INFINITY;
  await using proxy = await startProxy(chain.url, {
    http: (calls) => {
      if (calls.length === 1) return undefined;
      underWay.add(calls[0]);
      arrivals.push({ at: performance.now(), underWay: underWay.size });
      if (arrivals.length !== 3) return undefined;
      underWay.delete(calls[0]);
      refusedAt = performance.now();
      return { status: 429, headers: { "retry-after": "1" } };
    },
    answer: (call, result) => {
      underWay.delete(call);
      return result;
    },
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { batchCalls: 4 });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const works = [0, 1, 2].map(() =>
    rpc.use((endpoint) => endpoint.batch(headers(90), signal), signal),
  );
  for (const blocks of await Promise.all(works)) expect(numbersIn(blocks)).toEqual(upTo(90));
  const meanwhile = arrivals.filter(({ at }) => at > refusedAt && at < refusedAt + 950);
  const afterwards = arrivals.filter(({ at }) => at >= refusedAt + 950);
  // Three times four requests are under way at once: those may arrive after the refused one.
  expect(meanwhile.length).toBeLessThan(12);
  expect(afterwards.length).toBeGreaterThan(40);
  expect(afterwards.slice(0, 10).map((each) => each.underWay)).toEqual(Array(10).fill(1));
});

test("rejected calls of a batch are repeated, answered ones are not", async () => {
  let refusals = 7;
  const answered: unknown[] = [];
  await using proxy = await startProxy(chain.url, {
    answer: (call, result) => {
      if (call.method !== "eth_getBlockByNumber") return result;
      if (Number(call.params[0]) % 3 === 1 && refusals > 0) {
        refusals -= 1;
        return new Refusal(429, "you exceeded your compute units per second capacity");
      }
      answered.push(call.params[0]);
      return result;
    },
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { pauseMs: 10 });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const blocks = await rpc.use((endpoint) => endpoint.batch(headers(30), signal), signal);
  expect(numbersIn(blocks)).toEqual(upTo(30));
  expect(answered.length).toBe(30);
});

test("no work waits for a throttling endpoint while another one is ready", async () => {
  await using proxy = await startProxy(chain.url, {
    http: (calls) =>
      calls.length > 1 ? { status: 429, headers: { "retry-after": "60" } } : undefined,
  });
  const rpc = openFleet(chain.chainId, [proxy.url, chain.url]);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const blocks = await rpc.use((endpoint) => endpoint.batch(headers(9), signal), signal);
  expect(numbersIn(blocks)).toEqual(upTo(9));
  expect(rpc.status()[0]).toMatchObject({ state: "paused", lastError: { reason: "rate limit" } });
});

test("an endpoint that failed a while ago is tried before another is waited for", async () => {
  let broken = true;
  let limited = false;
  const failing = () => (broken ? { status: 503 } : undefined);
  await using first = await startProxy(chain.url, {
    http: (calls) =>
      limited && calls.length > 1 ? { status: 429, headers: { "retry-after": "30" } } : failing(),
  });
  await using second = await startProxy(chain.url, { http: failing });
  const settings = { pauseMs: 1, attempts: 2, doubtMs: 0 };
  const rpc = openFleet(chain.chainId, [first.url, second.url], settings);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const read = () => rpc.use((endpoint) => endpoint.batch(headers(9), signal), signal);
  await expect(read()).rejects.toMatchObject({ reason: "status" });
  broken = false;
  await read();
  expect(rpc.status()).toMatchObject([{ state: "good" }, { failures: 1 }]);
  limited = true;
  expect(numbersIn(await read())).toEqual(upTo(9));
  expect(rpc.status()).toMatchObject([{ state: "paused" }, { state: "good" }]);
});

test("beside a dead endpoint, one with a budget keeps its answers", async () => {
  const { http, seen } = bucketOf(20);
  const answered: Call[] = [];
  await using limited = await startProxy(chain.url, {
    http,
    answer: (call, result) => {
      answered.push(call);
      return result;
    },
  });
  await using gone = await startProxy(chain.url, { http: () => "cut" });
  const rpc = openFleet(chain.chainId, [limited.url, gone.url], { pauseMs: 75, maxPauseMs: 100 });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const read = () => rpc.use((endpoint) => endpoint.batch(headers(60), signal), signal);
  // The first refusal leads to the other one, which turns out to be gone.
  expect(numbersIn(await read())).toEqual(upTo(60));
  const before = answered.length;
  expect(numbersIn(await read())).toEqual(upTo(60));
  const again = answered.slice(before).filter(({ method }) => method === "eth_getBlockByNumber");
  expect(again.length).toBe(60);
  expect(seen.refused).toBeGreaterThan(3);
});

const id = (call: Call | undefined): unknown => Object(call).id;

const oversized: readonly [what: string, refusal: (calls: readonly Call[]) => object][] = [
  [
    "an array of one error with the first call's id",
    ([first]) => ({
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify([
        { jsonrpc: "2.0", id: id(first), error: { code: -32600, message: "batch too large" } },
      ]),
    }),
  ],
  [
    "an array of one error without an id",
    () => ({
      status: 200,
      body: JSON.stringify([{ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }]),
    }),
  ],
  [
    "one error that is no array",
    () => ({ status: 200, body: '{"id":null,"error":{"code":-32600,"message":"batch"}}' }),
  ],
  ["a 400 in plain text", () => ({ status: 400, body: "batch limit exceeded" })],
  ["a 413 in plain text", () => ({ status: 413, body: "payload too large" })],
  ["a 422", () => ({ status: 422 })],
];

test.for(oversized)(
  "a provider that refuses more than 20 calls a batch by %s gets fewer",
  async ([, refusal]) => {
    await using proxy = await startProxy(chain.url, {
      http: (calls) => {
        if (calls.length <= 20) return undefined;
        return { status: 200, ...refusal(calls) };
      },
    });
    const head = await chain.client.getBlockNumber();
    const network = networkOf([proxy.url], chain.chainId, [
      { address: token.address, type: "comakery_security_token_v4" },
    ]);
    const rpc = quickRpc(network);
    const batches = await batchesUpTo(network, head, { rpc });
    expect(batches.flatMap(({ facts }) => facts).length).toBeGreaterThan(9);
    expect(rpc.status()).toMatchObject([{ state: "good", lastError: undefined }]);
    // The size is kept: it is not found anew with every batch.
    expect(proxy.batches.filter((calls) => calls > 20).length).toBeLessThan(10);
  },
);

test("an authorisation failure does not halve the batch", async () => {
  await using proxy = await startProxy(chain.url, {
    http: (calls) => (calls.length > 1 ? { status: 403 } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { attempts: 1 });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const asked = rpc.use((endpoint) => endpoint.batch(headers(64), signal), signal);
  await expect(asked).rejects.toMatchObject({ name: "RpcUnavailableError", reason: "failure" });
  expect(proxy.batches).toEqual([1, 64]);
});

test("answers that are too large together are requested again separately", async () => {
  let room = 0;
  await using proxy = await startProxy(chain.url, {
    http: (calls) => {
      room = calls.length === 1 ? 1 : 7;
      return undefined;
    },
    answer: (_, result) => {
      room -= 1;
      return room < 0 ? new Refusal(-32003, "response too large") : result;
    },
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { attempts: 1, parallel: 1 });
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const blocks = await rpc.use((endpoint) => endpoint.batch(headers(30), signal), signal);
  expect(numbersIn(blocks)).toEqual(upTo(30));
  expect(proxy.batches).toEqual([1, 30, 23, 16, 9, 2]);
});
