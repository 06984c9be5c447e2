/** Several endpoints are one RPC: what fails is left alone for a while, and secrets stay secret. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { followChain } from "../../src/evm/chain/follow.ts";
import { tokenDescription } from "../../src/evm/log/descriptions.ts";
import { describeToken, readSchedules } from "../../src/evm/rpc/contract-calls.ts";
import { openFleet } from "../../src/evm/rpc/fleet.ts";
import { freshDatabase } from "../postgres.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { type Call, Refusal, startProxy } from "./proxy.ts";
import { DEADLINE_MS, networkOf, quickRpc } from "./reading.ts";

let chain: Anvil;
let token: Deployed;

beforeAll(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV5", ["Acme Shares", "ACME", 6, 1_000_000]);
});

afterAll(() => chain.stop());

const blockNumber = { method: "eth_blockNumber", params: [] };
const never = new AbortController().signal;

test("an endpoint that asks for fewer requests is paused as long as it said", async () => {
  let limited = true;
  await using proxy = await startProxy(chain.url, {
    http: () => (limited ? { status: 429, headers: { "retry-after": "1" } } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url, chain.url], { pauseMs: 10 });
  const used = () => rpc.use(async (endpoint) => endpoint.label, never);
  expect(await used()).toBe(chain.url);
  expect(rpc.status()).toMatchObject([{ state: "paused", failures: 1 }, { state: "good" }]);
  // It would answer again; it is not asked yet.
  limited = false;
  const before = proxy.calls.length;
  expect(await used()).toBe(chain.url);
  expect(proxy.calls.length).toBe(before);
});

test("a single endpoint is waited for at least as long as it asked", async () => {
  let requests = 0;
  await using proxy = await startProxy(chain.url, {
    http: () => {
      requests += 1;
      return requests === 1 ? { status: 429, headers: { "retry-after": "1" } } : undefined;
    },
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { pauseMs: 10 });
  const asked = performance.now();
  await rpc.use((endpoint) => endpoint.batch([blockNumber], never), never);
  expect(performance.now() - asked).toBeGreaterThanOrEqual(1_000);
});

test("an RPC that does not wait fails at once while its single endpoint is paused, without asking it", async () => {
  let limited = true;
  await using proxy = await startProxy(chain.url, {
    http: () => (limited ? { status: 429, headers: { "retry-after": "5" } } : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { attempts: 1, waits: false, pauseMs: 60_000 });
  const head = () => rpc.use((endpoint) => endpoint.batch([blockNumber], never), never);
  const limit = { name: "RpcUnavailableError", reason: "rate limit" };
  await expect(head()).rejects.toMatchObject(limit);
  const asked = performance.now();
  const before = proxy.calls.length;
  await expect(head()).rejects.toMatchObject(limit);
  await Promise.all(
    rpc.each.map((ask) =>
      expect(ask((one) => one.batch([blockNumber], never), never)).rejects.toMatchObject(limit),
    ),
  );
  expect(proxy.calls.length).toBe(before);
  expect(performance.now() - asked).toBeLessThan(4_000);
  // As soon as it may be asked, whatever pause it got for failing.
  limited = false;
  await expect.poll(() => head().catch(() => undefined), { timeout: 30_000 }).toHaveLength(1);
});

test("each endpoint is checked by itself, even one set aside, and a refusal sets none aside", async () => {
  let broken = true;
  await using first = await startProxy(chain.url, {
    http: () => (broken ? { status: 503 } : undefined),
  });
  await using second = await startProxy(chain.url, {
    answer: () => new Refusal(-32000, "not here"),
  });
  const urls = [first.url, second.url, chain.url];
  const rpc = openFleet(chain.chainId, urls, { pauseMs: 60_000 });
  const askAll = () =>
    Promise.all(
      rpc.each.map((ask) =>
        ask((endpoint) => endpoint.batch([blockNumber], never), never).then(
          () => "answered",
          (error: Error) => error.name,
        ),
      ),
    );
  expect(await askAll()).toEqual(["RpcUnavailableError", "RpcRefusedError", "answered"]);
  expect(rpc.status().map(({ failures }) => failures)).toEqual([1, 0, 0]);
  broken = false;
  expect(await askAll()).toEqual(["answered", "RpcRefusedError", "answered"]);
  expect([first.calls.length, second.calls.length]).toEqual([2, 2]);
});

test.for<[string, { status: number; body?: string } | "never"]>([
  ["HTTP 503", { status: 503 }],
  ["an answer that is not JSON", { status: 200, body: "<html>" }],
  ["no answer in time", "never"],
])("an endpoint with %s is passed over, and asked again after its pause", async ([, instead]) => {
  let broken = true;
  await using proxy = await startProxy(chain.url, {
    http: () => (broken ? instead : undefined),
  });
  const rpc = openFleet(chain.chainId, [proxy.url, chain.url], { timeoutMs: 100, pauseMs: 20 });
  const label = () =>
    rpc.use(async (endpoint) => {
      await endpoint.batch([blockNumber], never);
      return endpoint.label;
    }, never);
  expect(await label()).toBe(chain.url);
  broken = false;
  const deadline = performance.now() + DEADLINE_MS;
  while ((await label()) !== proxy.url) {
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(rpc.status())}`);
  }
});

test("when every endpoint fails, the last error is thrown for a retry, without URL paths", async () => {
  await using proxy = await startProxy(chain.url, { http: () => ({ status: 502 }) });
  const secret = `${proxy.url}/v2/SECRET-KEY?token=SECRET`;
  const rpc = openFleet(chain.chainId, [secret], { attempts: 2, pauseMs: 1 });
  const failure = await rpc
    .use((endpoint) => endpoint.batch([blockNumber], never), never)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "RpcUnavailableError", remedy: "retry" });
  const shown =
    JSON.stringify([failure, rpc.status()]) + (failure instanceof Error ? failure.stack : "");
  expect(shown).not.toContain("SECRET");
});

test("a key quoted in a provider's error is not shown", async () => {
  await using proxy = await startProxy(chain.url, {
    answer: ({ method }, result) =>
      method === "eth_blockNumber"
        ? new Refusal(-32000, "project SECRET-KEY has no plan, see SECRET-TOKEN")
        : result,
  });
  const secret = `${proxy.url}/v2/SECRET-KEY?token=SECRET-TOKEN`;
  const rpc = openFleet(chain.chainId, [secret, `${proxy.url}/v2/other`], { attempts: 1 });
  const failure = rpc.use((endpoint) => endpoint.batch([blockNumber], never), never);
  await expect(failure).rejects.toThrow(
    `${proxy.url}: eth_blockNumber was refused with code -32000: project … has no plan, see …`,
  );
  expect(rpc.status().map(({ label }) => label)).toEqual([proxy.url, `${proxy.url} (2)`]);
});

test("batch replies in any order reach the calls they answer", async () => {
  await using proxy = await startProxy(chain.url, {
    http: (calls) =>
      calls.length > 1
        ? {
            status: 200,
            body: JSON.stringify(
              calls
                .map((call: Call & { id?: number }) => ({
                  jsonrpc: "2.0",
                  id: call.id,
                  result: call.params[0],
                }))
                .reverse(),
            ),
          }
        : undefined,
  });
  const rpc = openFleet(chain.chainId, [proxy.url], { batchCalls: 3 });
  const calls = Array.from({ length: 10 }, (_, i) => ({ method: "echo", params: [i] }));
  const results = await rpc.use((endpoint) => endpoint.batch(calls.slice(0, 9), never), never);
  expect(results).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(proxy.batches).toEqual([1, 3, 3, 3]);
});

test("a token's description is read at its first log, and kept", async () => {
  const network = networkOf([chain.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v5" },
  ]);
  await using database = await freshDatabase();
  const stop = new AbortController();
  const following = followChain(
    { database, network, rpc: quickRpc(network), reader: { pollMs: 10 } },
    stop.signal,
  );
  const deadline = performance.now() + DEADLINE_MS;
  let found = await tokenDescription(database.db, chain.chainId, token.address);
  while (found === null) {
    if (performance.now() > deadline) throw new Error("the token was not described in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
    found = await tokenDescription(database.db, chain.chainId, token.address);
  }
  stop.abort();
  await following;
  const { describedAt, ...description } = found;
  expect(description).toEqual({
    name: "Acme Shares",
    symbol: "ACME",
    decimals: 6,
    totalSupply: 1_000_000n,
    contractVersion: "5.0.0",
  });
  expect(Math.abs(Date.parse(describedAt) - Date.now())).toBeLessThan(60_000);
});

test("a token that could not be described at its first log is asked again, without another log", async () => {
  // Five questions, three attempts: the first time there is no answer.
  let refusals = 15;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method }, result) => {
      if (method !== "eth_call" || refusals === 0) return result;
      refusals -= 1;
      return new Refusal(-32603, "internal error");
    },
  });
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v5" },
  ]);
  await using database = await freshDatabase();
  const stop = new AbortController();
  const following = followChain(
    { database, network, rpc: quickRpc(network), reader: { pollMs: 10 } },
    stop.signal,
  );
  const described = () => tokenDescription(database.db, chain.chainId, token.address);
  await expect.poll(described, { timeout: DEADLINE_MS }).toMatchObject({ symbol: "ACME" });
  expect(refusals).toBe(0);
  stop.abort();
  await following;
});

test("missing answers of a contract are null; an empty answer to everything is distrusted", async () => {
  const plain = await chain.deploy("SecurityTokenV4", ["Beta", "B", 0, 1]);
  const { chainId } = chain;
  const block = await chain.client.getBlockNumber();
  const rpc = openFleet(chainId, [chain.url], { attempts: 1 });
  const describe = (address: typeof plain.address, at = block) =>
    rpc.use((endpoint) => {
      const asked = { chainId, token: address, block: at };
      return describeToken(endpoint, asked, never);
    }, never);
  expect(await describe(plain.address)).toMatchObject({ decimals: 0, contractVersion: null });
  const silent = { name: "LyingRpcError", lie: "contract without answers", remedy: "retry" };
  await expect(describe(chain.wallet(3))).rejects.toMatchObject(silent);
  // A node that has not got that far says so; it must not pass for a contract without decimals.
  await expect(describe(plain.address, block + 1n)).rejects.toMatchObject({
    name: "RpcRefusedError",
    remedy: "retry",
  });
});

test("a schedule is read at its block, at the newest one where that is pruned, and is null where refused", async () => {
  await chain.send(token, "createReleaseSchedule", [3, 7, 100, 9]);
  const block = await chain.client.getBlockNumber();
  await chain.client.mine({ blocks: 1 });
  const head = block + 1n;
  const asked = [
    { contract: token.address, scheduleId: 0n, block },
    { contract: token.address, scheduleId: 5n, block },
  ];
  const schedule = {
    releaseCount: 3n,
    delayUntilFirstReleaseInSeconds: 7n,
    initialReleasePortionInBips: 100n,
    periodBetweenReleasesInSeconds: 9n,
  };
  const read = (url: string) =>
    openFleet(chain.chainId, [url], { attempts: 1 }).use(
      (endpoint) => readSchedules(endpoint, asked, head, never),
      never,
    );
  expect(await read(chain.url)).toEqual([schedule, null]);

  await using pruned = await startProxy(chain.url, {
    answer: ({ method, params }, result) =>
      method === "eth_call" && params[1] !== `0x${head.toString(16)}`
        ? new Refusal(-32000, "missing trie node: state is not available")
        : result,
  });
  expect(await read(pruned.url)).toEqual([schedule, null]);

  // One that is behind both blocks has not seen the schedule: that is no answer.
  await using behind = await startProxy(chain.url, {
    answer: ({ method, params }, result) =>
      method === "eth_call" && params[1] !== "latest"
        ? new Refusal(-32000, "header not found")
        : result,
  });
  await expect(read(behind.url)).rejects.toMatchObject({ name: "RpcRefusedError" });

  // A contract may take any call and answer nothing, as one does that keeps no schedules.
  await using mute = await startProxy(chain.url, {
    answer: ({ method }, result) => (method === "eth_call" ? "0x" : result),
  });
  expect(await read(mute.url)).toEqual([null, null]);

  // A contract that logged in a block is there: a node that finds nothing does not have it.
  await using empty = await startProxy(chain.url, {
    answer: ({ method }, result) =>
      method === "eth_call" || method === "eth_getCode" ? "0x" : result,
  });
  await expect(read(empty.url)).rejects.toMatchObject({
    name: "LyingRpcError",
    lie: "contract without answers",
    remedy: "retry",
  });

  // A node that cannot say is not a contract that refuses.
  await using broken = await startProxy(chain.url, {
    answer: ({ method }, result) =>
      method === "eth_call" ? new Refusal(-32603, "internal error") : result,
  });
  await expect(read(broken.url)).rejects.toMatchObject({
    name: "RpcRefusedError",
    remedy: "retry",
  });
});
