/** Several endpoints of one chain: who changes, breaks the chain's word or stands still is named and left alone. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Finality } from "../../src/evm/contract/network.ts";
import type { EndpointStatus } from "../../src/evm/rpc/fleet.ts";
import { openFleet } from "../../src/evm/rpc/fleet.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { atHead, following, foundOn, loggedOf, reorganise, until } from "./following.ts";
import { type Call, startProxy } from "./proxy.ts";
import { networkOf, quickRpc } from "./reading.ts";
import { shareChain } from "./shared-chain.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;

// Its own blocks count as finalized two below the head.
shareChain({ args: ["--slots-in-an-epoch", "1"] }, async (started) => {
  chain = started;
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(async () => {
  await database.close();
});

const never = new AbortController().signal;

const networkWith = (rpc: readonly string[], finality: Finality = 3) =>
  networkOf(rpc, chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4", finality },
  ]);

const pay = (wallet: number, amount: number) =>
  chain.send(token, "transfer", [chain.wallet(wallet), amount]);

/** The log holds what the chain has, to the head. */
const expectWhole = async (network: ReturnType<typeof networkWith>) => {
  await atHead(database, network, chain);
  const logged = await loggedOf(database, network, token.address);
  expect(logged).toEqual(await foundOn(chain, network, token.address));
};

test("an endpoint that becomes another chain is named, and reading continues on the other one", async () => {
  await using other = await startAnvil({ chainId: 1 });
  await other.client.mine({ blocks: 30 });
  let target = chain.url;
  await using turncoat = await startProxy(() => target);
  const network = networkWith([turncoat.url, chain.url]);
  await using follower = following(database, network);
  for (let i = 1; i <= 6; i += 1) await pay(i, i);
  await atHead(database, network, chain);

  target = other.url;
  await pay(7, 7);
  await expectWhole(network);
  expect(follower.rpc.status()).toMatchObject([
    {
      state: "wrong chain",
      lastError: { message: `${turncoat.url} is of chain 1, configured is chain 31337` },
    },
    { state: "good" },
  ]);
  expect(follower.batches.filter(({ rollback }) => rollback !== null)).toEqual([]);
});

const isLogs = ({ method }: Call) => method === "eth_getLogs";

test("an endpoint that becomes another chain while old blocks are read adds none of them", async () => {
  await using other = await startAnvil({ chainId: 1 });
  await other.client.mine({ blocks: 300 });
  for (let i = 1; i <= 6; i += 1) await pay(i, i);
  await chain.client.mine({ blocks: 100 });
  let turned = false;
  // The look at the head is still of the chain; the logs after it are not.
  await using turncoat = await startProxy(() => (turned ? other.url : chain.url), {
    http: (calls) => {
      turned ||= calls.some(isLogs);
      return undefined;
    },
  });
  const network = networkWith([turncoat.url, chain.url]);
  await using follower = following(database, network, { reader: { followDepth: 0 } });
  await expectWhole(network);
  expect(follower.rpc.status()).toMatchObject([{ state: "wrong chain" }, { state: "good" }]);
});

test("an endpoint with another history is distrusted beside one with the known history", async () => {
  await using other = await startAnvil();
  await other.client.mine({ blocks: 30 });
  let target = chain.url;
  await using turncoat = await startProxy(() => target);
  const network = networkWith([turncoat.url, chain.url], "finalized");
  const aside: EndpointStatus[] = [];
  const rpc = quickRpc(network, network.rpc, { onSetAside: (endpoint) => aside.push(endpoint) });
  await using follower = following(database, network, { rpc });
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(database, network, chain);

  target = other.url;
  await pay(9, 9);
  await expectWhole(network);
  const said = () =>
    aside.map(({ label, lastError }) => `${label} ${lastError?.name}: ${lastError?.message}`);
  const words = `${turncoat.url} FinalityViolatedError: ${turncoat.url}: block `;
  await until(() => said().some((line) => line.startsWith(words)), said);
  expect(follower.errors).toEqual([]);
});

test("a single endpoint with another history stops the reader, with a remedy", async () => {
  await using other = await startAnvil();
  await other.client.mine({ blocks: 30 });
  let target = chain.url;
  await using turncoat = await startProxy(() => target);
  const network = networkWith([turncoat.url], "finalized");
  await using follower = following(database, network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(database, network, chain);
  target = other.url;
  expect(await follower.failure).toMatchObject({
    name: "FinalityViolatedError",
    remedy: "stop",
    message: expect.stringMatching(
      `^${turncoat.url}: block .* compare .*: holderbook evm reread --chain 31337$`,
    ),
  });
});

test("a block that was final by depth is withdrawn once every endpoint shows that it was replaced", async () => {
  let forked = false;
  // Shows other blocks from the fifth on.
  await using alone = await startProxy(chain.url, {
    answer: ({ method }, result) => {
      const block: { number?: string } = Object(result);
      return forked && method === "eth_getBlockByNumber" && Number(block.number) > 4
        ? { ...block, hash: `0x${"ab".repeat(31)}${block.number?.slice(2).padStart(2, "0")}` }
        : result;
    },
  });
  const network = networkWith([alone.url, chain.url], 2);
  await using follower = following(database, network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(database, network, chain);

  forked = true;
  await pay(9, 9);
  await expectWhole(network);
  const rollbacks = () => follower.batches.flatMap(({ rollback }) => rollback ?? []);
  expect(rollbacks()).toEqual([]);
  expect(follower.rpc.status()[0]).toMatchObject({ lastError: { name: "FinalityViolatedError" } });

  forked = false;
  await reorganise(chain, token, 5, 9, 99);
  await expectWhole(network);
  expect(rollbacks()).toEqual([{ toBlock: 5n, belowFinal: true }]);
});

test.for<[string, (good: string, dead: string) => string[]]>([
  ["after", (good, dead) => [good, dead]],
  ["before", (good, dead) => [dead, good]],
])(
  "an endpoint that cannot be reached, %s one that shows final blocks replaced, does not hide it",
  async ([, order]) => {
    let dead = false;
    await using mortal = await startProxy(chain.url, { http: () => (dead ? "cut" : undefined) });
    const urls = order(chain.url, mortal.url);
    const byDepth = networkWith(urls, 2);
    const byTag = networkWith(urls, "finalized");
    for (let i = 1; i <= 8; i += 1) await pay(i, i);
    await using other = await freshDatabase();
    await using follower = following(database, byDepth);
    await using strict = following(other, byTag);
    await atHead(database, byDepth, chain);
    await atHead(other, byTag, chain);
    dead = true;
    await reorganise(chain, token, 5, 9, 99);
    // By depth it is followed, by a tag it stops: as with one endpoint.
    await expectWhole(byDepth);
    expect(follower.batches.flatMap(({ rollback }) => rollback ?? [])).toMatchObject([
      { belowFinal: true },
    ]);
    expect(await strict.failure).toMatchObject({
      name: "FinalityViolatedError",
      message: expect.stringContaining(`${chain.url}: block `),
      cause: { name: "RpcUnavailableError", message: `${mortal.url}: UND_ERR_SOCKET` },
    });
  },
);

/** In front of the chain; frozen, it shows what the chain had at that moment. */
const startFreezable = async () => {
  let frozen: unknown = null;
  const proxy = await startProxy(chain.url, {
    answer: ({ method, params }, result) => {
      if (frozen === null) return result;
      const head = BigInt(Object(frozen).number);
      if (method === "eth_blockNumber") return `0x${head.toString(16)}`;
      if (method !== "eth_getBlockByNumber" || result === null) return result;
      if (params[0] === "latest") return frozen;
      return BigInt(Object(result).number) > head ? null : result;
    },
  });
  return {
    proxy,
    freeze: async () => {
      frozen = await chain.request("eth_getBlockByNumber", ["latest", false]);
    },
    thaw: () => {
      frozen = null;
    },
  };
};

test("a stalled endpoint is named and left for one that advances, until it advances too", async () => {
  const { proxy, freeze, thaw } = await startFreezable();
  await using _proxy = proxy;
  const network = networkWith([proxy.url, chain.url]);
  await using follower = following(database, network, { reader: { stillMs: 200 } });
  await pay(1, 1);
  await atHead(database, network, chain);
  const at = await chain.client.getBlockNumber();
  await freeze();
  for (let i = 2; i <= 4; i += 1) await pay(i, i);
  await expectWhole(network);
  expect(follower.rpc.status()).toMatchObject([
    {
      state: "paused",
      lastError: {
        reason: "behind",
        message: expect.stringContaining(`newest block is still ${at}`),
      },
    },
    { state: "good" },
  ]);
  expect(follower.errors).toEqual([]);

  thaw();
  await until(
    () => follower.rpc.status()[0]?.state === "good",
    () => JSON.stringify(follower.rpc.status()),
  );
});

test("on a quiet chain the others are asked, and no endpoint is set aside", async () => {
  await using second = await startProxy(chain.url);
  const network = networkWith([chain.url, second.url]);
  await using follower = following(database, network, { reader: { stillMs: 50 } });
  await atHead(database, network, chain);
  await until(
    () => second.calls.filter(({ method }) => method === "eth_blockNumber").length >= 3,
    () => JSON.stringify(second.calls.map(({ method }) => method)),
  );
  expect(follower.rpc.status()).toMatchObject([
    { state: "good", lastError: undefined },
    { lastError: undefined },
  ]);
});

test("requests that fail together count as one failure", async () => {
  let waiting: (() => void)[] = [];
  let broken = false;
  await using proxy = await startProxy(chain.url, {
    http: () => (broken ? { status: 503 } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { attempts: 1, pauseMs: 1 });
  const ask = () =>
    rpc.use(async (endpoint) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return endpoint.batch([{ method: "eth_blockNumber", params: [] }], never);
    }, never);
  const round = async () => {
    const asked = Promise.allSettled([ask(), ask(), ask()]);
    await until(
      () => waiting.length === 3,
      () => waiting.length,
    );
    for (const resume of waiting) resume();
    waiting = [];
    return (await asked).map(({ status }) => status);
  };
  expect(await round()).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
  broken = true;
  expect(await round()).toEqual(["rejected", "rejected", "rejected"]);
  expect(rpc.status()[0]?.failures).toBe(1);
});

test("an endpoint that asked for a pause is not called good by work that was in progress", async () => {
  let isLimited = false;
  await using proxy = await startProxy(chain.url, {
    http: () => (isLimited ? { status: 429, headers: { "retry-after": "3600" } } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url]);
  const held = Promise.withResolvers<void>();
  const ending = new AbortController();
  const inProgress = rpc.use(() => held.promise, never);
  await until(
    () => rpc.status()[0]?.state === "good",
    () => JSON.stringify(rpc.status()),
  );
  isLimited = true;
  const head = [{ method: "eth_blockNumber", params: [] }];
  const waiting = rpc.use((endpoint) => endpoint.batch(head, ending.signal), ending.signal);
  await until(
    () => rpc.status()[0]?.state === "paused",
    () => JSON.stringify(rpc.status()),
  );
  held.resolve();
  await inProgress;
  expect(rpc.status()).toMatchObject([{ state: "paused", failures: 1 }]);
  ending.abort();
  await expect(waiting).rejects.toThrow();
});

test("an endpoint that asked for longer than it is waited for is good once it answers again", async () => {
  let isLimited = true;
  await using proxy = await startProxy(chain.url, {
    http: () => (isLimited ? { status: 429, headers: { "retry-after": "3600" } } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url]);
  const head = [{ method: "eth_blockNumber", params: [] }];
  const ending = new AbortController();
  const waiting = rpc.use((endpoint) => endpoint.batch(head, ending.signal), ending.signal);
  await until(
    () => rpc.status()[0]?.state === "paused",
    () => JSON.stringify(rpc.status()),
  );
  ending.abort();
  await expect(waiting).rejects.toThrow();
  isLimited = false;
  // It is waited for five minutes at most. The clock goes on: the fleet waits by it.
  const now = performance.now.bind(performance);
  using _later = vi.spyOn(performance, "now").mockImplementation(() => now() + 6 * 60_000);
  await rpc.use((endpoint) => endpoint.batch(head, AbortSignal.timeout(30_000)), never);
  expect(rpc.status()).toMatchObject([{ state: "good", failures: 0 }]);
});

test("endpoints set aside or waited for are logged by label only", async () => {
  const told: string[] = [];
  const waited: unknown[] = [];
  let left = 2;
  await using proxy = await startProxy(chain.url, {
    http: () => {
      left -= 1;
      return left >= 0 ? { status: 502 } : undefined;
    },
  });
  const network = networkWith([`${proxy.url}/v2/SECRET-KEY`]);
  const rpc = quickRpc(network, network.rpc, {
    onSetAside: ({ label, lastError }) => told.push(`${label} ${lastError?.message}`),
    onNoneUsable: (error) => waited.push(error),
  });
  await rpc.use(async () => undefined, never);
  expect(told).toEqual(Array(2).fill(`${proxy.url} ${proxy.url}: HTTP 502`));
  expect(waited).toMatchObject([{ reason: "status" }, { reason: "status" }]);
});

test("an endpoint that names a block it does not have causes no other endpoint to be set aside", async () => {
  await using liar = await startProxy(chain.url, {
    answer: ({ method }, result) => (method === "eth_blockNumber" ? "0xfffff" : result),
  });
  const rpc = openFleet(chain.chainId, [chain.url, liar.url], { attempts: 1 });
  const never = new AbortController().signal;
  await rpc.leaveBehind(await chain.client.getBlockNumber(), never);
  expect(rpc.status()).toMatchObject([
    { failures: 0, lastError: undefined },
    { state: "paused", lastError: { name: "LyingRpcError", lie: "missing block" } },
  ]);
});
