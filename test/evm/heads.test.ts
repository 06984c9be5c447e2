/** The head that an RPC names is told, and makes nothing final: finality is counted from blocks that were read. */
import { numberToHex } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import type { Finality } from "../../src/evm/contract/network.ts";
import { chainMark } from "../../src/evm/log/reads.ts";
import { callbackEndpoint } from "../../src/transfers/callbacks.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { evmAsset, index, serve, waitFor } from "../rest/service.ts";
import type { Anvil, Deployed } from "./anvil.ts";
import { atHead, following, until } from "./following.ts";
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
  for (let i = 1; i <= 8; i += 1) await pay(i);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
});

afterEach(async () => {
  await database.close();
});

const INFLATED = "0xf4240";
const HASH = `0x${"ab".repeat(32)}`;

const pay = (amount: number) => chain.send(token, "transfer", [chain.wallet(1), amount]);

const asksBlock = ({ method, params }: Call, block: string) =>
  method === "eth_getBlockByNumber" && params[0] === block;

/** Inflates the block of that name as long as there are lies left. */
const inflating = (name: string, block: object = { number: INFLATED }) => {
  const lies = { left: 0, told: 0 };
  const answer = (call: Call, result: unknown) => {
    if (lies.left === 0 || !asksBlock(call, name)) return result;
    lies.left -= 1;
    lies.told += 1;
    return { ...Object(result), ...block };
  };
  return { lies, answer };
};

test.for<[name: string, finality: Finality, lie: string, block: object]>([
  ["latest", 12, "missing block", { number: INFLATED }],
  ["latest", 12, "wrong block", { number: "0x1" }],
  ["latest", "latest", "missing block", { number: INFLATED }],
  ["finalized", "finalized", "missing block", { number: INFLATED }],
  // The newest block, although the chain calls an older one final.
  ["finalized", "finalized", "wrong block", { number: "0x9" }],
])(
  "one inflated answer for the %s block with finality %s is named (%s), and no block is final by it",
  async ([name, finality, lie, block]) => {
    const { lies, answer } = inflating(name, block);
    await using proxy = await startProxy(chain.url, { answer });
    const network = networkOf([proxy.url], chain.chainId, [
      { address: token.address, type: "comakery_security_token_v4", finality },
    ]);
    await using follower = following(database, network);
    await atHead(database, network, chain);
    const before = await chainMark(database.db, chain.chainId);

    lies.left = 1;
    const named = () => follower.rpc.status()[0]?.lastError;
    await until(
      () => named() !== undefined,
      () =>
        JSON.stringify({ told: lies.told, final: follower.batches.at(-1)?.finalBlock.toString() }),
    );
    expect(named()).toMatchObject({ name: "LyingRpcError", lie });
    expect(await chainMark(database.db, chain.chainId)).toEqual(before);
    await pay(9);
    await atHead(database, network, chain);
    const head = await chain.client.getBlockNumber();
    const depth = finality === "finalized" ? 2n : finality === "latest" ? 0n : 12n;
    expect(await chainMark(database.db, chain.chainId)).toMatchObject({
      headBlock: head,
      finalBlock: head - depth < -1n ? -1n : head - depth,
    });
    expect(follower.batches.map(({ rollback }) => rollback)).toEqual(
      follower.batches.map(() => null),
    );
  },
);

test("an inflated head that an RPC also returns by number makes nothing final that was not read that deep", async () => {
  const { lies, answer } = inflating("latest", { number: INFLATED, hash: HASH });
  const last = Object(await chain.request("eth_getBlockByNumber", ["latest", false]));
  await using proxy = await startProxy(chain.url, {
    answer: (call, result) =>
      asksBlock(call, INFLATED) && lies.told > 0
        ? { ...last, number: INFLATED, hash: HASH }
        : answer(call, result),
  });
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4", finality: 5 },
  ]);
  await using follower = following(database, network, { rpc: quickRpc(network, [proxy.url]) });
  await atHead(database, network, chain);
  lies.left = 2;
  await until(
    () => lies.left === 0,
    () => `told ${lies.told}`,
  );
  await pay(9);
  await atHead(database, network, chain);
  const head = await chain.client.getBlockNumber();
  expect(await chainMark(database.db, chain.chainId)).toMatchObject({
    headBlock: head,
    finalBlock: head - 5n,
  });
  for (const { finalBlock } of follower.batches) expect(finalBlock).toBeLessThanOrEqual(head - 5n);
});

test("no callback is sent for a record that only an inflated head would make final", async () => {
  const { lies, answer } = inflating("latest");
  await using proxy = await startProxy(chain.url, { answer });
  const projects = [
    {
      name: "acme",
      callbackUrl: "http://127.0.0.1:9/",
      tokens: [
        evmAsset({
          address: token.address,
          chainId: chain.chainId,
          rpc: [proxy.url],
          finality: 12,
        }),
      ],
    },
  ];
  await using api = await serve(database, projects);
  await using indexing = await index(database, projects);
  await api.until(({ length }) => length === 9);
  lies.left = 3;
  await waitFor(
    () => indexing.logged.filter((line) => line.includes("LyingRpcError")),
    ({ length }) => length > 0 && lies.left === 0,
    () => JSON.stringify({ lies, logged: indexing.logged }),
  );
  await pay(9);
  await api.until(({ length }) => length === 10);
  const whose = { endpoints: [callbackEndpoint("acme")], limit: 100 };
  const sent = async () => (await listDeliveries(database, whose)).length;
  expect(await sent()).toBe(0);
  // Three blocks more, and the first record is twelve deep.
  await chain.client.mine({ blocks: 3 });
  await waitFor(sent, (count) => count === 1);
});

test("the remaining distance is known while the first range is still being read", async () => {
  await chain.client.mine({ blocks: 100 });
  await using proxy = await startProxy(chain.url, {
    http: (calls) => (calls.some(({ method }) => method === "eth_getLogs") ? "never" : undefined),
  });
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4", finality: 12 },
  ]);
  await using _follower = following(database, network);
  const mark = () => chainMark(database.db, chain.chainId);
  await until(
    async () => (await mark())?.headBlock != null,
    async () => `${await mark()}`,
  );
  const head = await chain.client.getBlockNumber();
  expect(await mark()).toMatchObject({ headBlock: head, finalBlock: -1n });
});

test("a newest block with a false time is read again once its true one is reported", async () => {
  const lies = { at: "", told: 0 };
  await using proxy = await startProxy(chain.url, {
    answer: (call, result) => {
      const block: { number?: string; timestamp?: string } = Object(result);
      if (call.method !== "eth_getBlockByNumber" || block.number !== lies.at) return result;
      lies.told += 1;
      return { ...block, timestamp: `0x${(Number(block.timestamp) + 1_000).toString(16)}` };
    },
  });
  const projects = [
    {
      name: "acme",
      tokens: [evmAsset({ address: token.address, chainId: chain.chainId, rpc: [proxy.url] })],
    },
  ];
  lies.at = numberToHex((await chain.client.getBlockNumber()) + 1n);
  await pay(9);
  await using api = await serve(database, projects);
  await using indexing = await index(database, projects);
  await api.until(({ length }) => length === 10);
  expect(lies.told).toBeGreaterThan(0);

  lies.at = "";
  await pay(10);
  await api.until(({ length }) => length === 11);
  const records = await api.list();
  const blocks = records.map(({ block }) => Number(block));
  const times = records.map(({ approved_on_chain_at: at }) => at);
  const trueTimes = blocks.map(async (block) => {
    const { timestamp } = await chain.client.getBlock({ blockNumber: BigInt(block) });
    return new Date(Number(timestamp) * 1_000).toISOString();
  });
  expect(times).toEqual(await Promise.all(trueTimes));
  expect(blocks).toEqual(blocks.toSorted((a, b) => a - b));
  expect([...indexing.statuses.values()].map(({ state }) => state)).not.toContain("stopped");
});

test("a false time of the last block of a settled range is no reorganisation", async () => {
  await chain.request("anvil_mine", [numberToHex(100), numberToHex(12)]);
  const settled = numberToHex((await chain.client.getBlockNumber()) - 64n);
  const lies = { left: 1 };
  await using proxy = await startProxy(chain.url, {
    answer: (call, result) => {
      if (lies.left === 0 || !asksBlock(call, settled)) return result;
      lies.left -= 1;
      const block: { timestamp?: string } = Object(result);
      return { ...block, timestamp: numberToHex(Number(block.timestamp) + 5) };
    },
  });
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4", finality: "finalized" },
  ]);
  await using follower = following(database, network);
  await Promise.race([atHead(database, network, chain), follower.failure.then(stopped)]);
  expect(lies.left).toBe(0);
  expect(follower.batches.map(({ rollback }) => rollback)).toEqual(
    follower.batches.map(() => null),
  );
});

const stopped = (error: unknown) => {
  throw error;
};
