/** An RPC that answers untruly is named, never believed; with another one beside it, reading goes on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LyingRpcError } from "../../src/evm/rpc/errors.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { type Call, Refusal, startProxy } from "./proxy.ts";
import { batchesUpTo, networkOf, quickRpc, readingsIn } from "./reading.ts";

let chain: Anvil;
let token: Deployed;
let head: bigint;

beforeAll(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  for (let i = 1; i <= 6; i += 1) await chain.send(token, "transfer", [chain.wallet(i), i]);
  head = await chain.client.getBlockNumber();
});

afterAll(() => chain.stop());

const HASH = `0x${"ab".repeat(32)}`;

type Json = Record<string, unknown>;

/** Falsifies the logs of range questions. */
const logs = (falsify: (logs: Json[]) => unknown) => (call: Call, result: unknown) =>
  call.method === "eth_getLogs" &&
  Array.isArray(result) &&
  !JSON.stringify(call).includes("blockHash")
    ? falsify(result)
    : result;

/** Falsifies members of the last log. */
const lastLog = (members: Json | (() => Json)) =>
  logs((all) => [
    ...all.slice(0, -1),
    { ...last(all), ...(typeof members === "function" ? members() : members) },
  ]);

/** Falsifies the block of that number, whole or header alone. */
const block =
  (number: number, falsify: (block: Json) => unknown) => (call: Call, result: unknown) =>
    call.method === "eth_getBlockByNumber" && call.params[0] === `0x${number.toString(16)}`
      ? falsify(Object(result))
      : result;

const transaction = (falsify: (transaction: Json) => unknown) => (call: Call, result: unknown) =>
  call.method === "eth_getTransactionByHash" ? falsify(Object(result)) : result;

/** Falsifies the time of a block by so many seconds. */
const time =
  (number: number | (() => bigint), seconds: number) =>
  (call: Call, result: unknown): unknown => {
    const at = typeof number === "number" ? BigInt(number) : number();
    const it: Json = Object(result);
    return call.method === "eth_getBlockByNumber" && it.number === `0x${at.toString(16)}`
      ? { ...it, timestamp: `0x${(Number(it.timestamp) + seconds).toString(16)}` }
      : result;
  };

const last = (items: Json[]): Json => {
  const item = items.at(-1);
  if (item === undefined) throw new Error("there is nothing to falsify");
  return item;
};

const lies: readonly [
  what: string,
  lie: string,
  answer: (call: Call, result: unknown) => unknown,
][] = [
  [
    "a log of a block that is not in the chain",
    "block hash of a log",
    lastLog({ blockHash: HASH }),
  ],
  ["logs out of order", "order of logs", logs((all) => all.reverse())],
  ["a log twice", "order of logs", logs((all) => [...all, last(all)])],
  ["a log of a block outside the question", "range of logs", lastLog({ blockNumber: "0xffff" })],
  ["a log of another contract", "address of a log", lastLog(() => ({ address: chain.wallet(9) }))],
  ["a log that was removed", "removed log", lastLog({ removed: true })],
  [
    "a block's logs left out",
    "missing logs",
    logs((all) => all.filter(({ blockNumber }) => blockNumber !== "0x4")),
  ],
  ["no logs at all", "missing logs", logs(() => [])],
  ["something else than logs", "malformed reply", logs(() => ({ logs: [] }))],
  ["a log with a torn topic", "malformed reply", lastLog({ topics: ["0xddf2"] })],
  ["a log of another transaction", "transaction of a log", lastLog({ transactionHash: HASH })],
  [
    "other amounts than the receipts",
    "receipt of a transaction",
    logs((all) => all.map((log) => ({ ...log, data: `0x${"07".repeat(32)}` }))),
  ],
  [
    "every log twice, with a number of its own",
    "receipt of a transaction",
    logs((all) =>
      all.flatMap((log) => [
        { ...log, logIndex: `0x${(2 * Number(log.logIndex)).toString(16)}` },
        { ...log, logIndex: `0x${(2 * Number(log.logIndex) + 1).toString(16)}` },
      ]),
    ),
  ],
  [
    "a block of an impossible time",
    "malformed reply",
    block(4, (it) => ({ ...it, timestamp: HASH })),
  ],
  ["a block of a time before its parent's", "time of a block", time(4, -30)],
  ["a block of a time after its child's", "time of a block", time(4, 100_000)],
  ["the first block of a time after the next one's", "time of a block", time(0, 100_000)],
  ["the newest block of a time before its parent's", "time of a block", time(() => head, -100_000)],
  ["a missing block", "missing block", block(4, () => null)],
  ["another block", "wrong block", block(4, (it) => ({ ...it, number: "0x3" }))],
  ["a block with another parent", "broken chain", block(4, (it) => ({ ...it, parentHash: HASH }))],
  ["a block with another hash", "broken chain", block(4, (it) => ({ ...it, hash: HASH }))],
  [
    "a log that the bloom excludes",
    "bloom of a block",
    block(4, (it) => ({ ...it, logsBloom: `0x${"00".repeat(255)}01` })),
  ],
  [
    "a transaction of another block",
    "transaction of a log",
    transaction((it) => ({ ...it, blockHash: HASH })),
  ],
  ["another transaction", "transaction of a log", transaction((it) => ({ ...it, hash: HASH }))],
  [
    "a pending transaction",
    "transaction of a log",
    transaction((it) => ({ ...it, blockHash: null })),
  ],
];

test.for(lies)(
  "an RPC that returns %s is caught (%s), and another one asked",
  async ([, lie, answer]) => {
    await using proxy = await startProxy(chain.url, { answer });
    const network = networkOf([proxy.url], chain.chainId, [
      { address: token.address, type: "comakery_security_token_v4" },
    ]);
    const failure = await batchesUpTo(network, head).then(
      (batches) => ({ name: `believed: ${batches.length} batches` }),
      (error: LyingRpcError) => error,
    );
    expect(failure).toMatchObject({ name: "LyingRpcError", lie, remedy: "retry" });

    // The honest one beside it is asked instead.
    const rpc = quickRpc(network, [proxy.url, chain.url]);
    const batches = await batchesUpTo(network, head, { rpc });
    const amounts = readingsIn(network, batches)
      .get(token.address)
      ?.transfers.map(({ amount }) => amount);
    expect(amounts).toEqual([1_000_000n, 1n, 2n, 3n, 4n, 5n, 6n]);
    expect(rpc.status().map(({ state }) => state)).toContain("good");
    expect(rpc.status()[0]?.lastError).toMatchObject({ lie });
  },
);

test("an RPC whose amounts in old blocks differ from their receipts is caught too", async () => {
  await using old = await startAnvil();
  const issued = await old.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  for (let i = 1; i <= 3; i += 1) await old.send(issued, "transfer", [old.wallet(i), i]);
  await old.client.mine({ blocks: 100 });
  const type = "comakery_security_token_v4";
  const reading = async (url: string) => {
    const network = networkOf([url], old.chainId, [{ address: issued.address, type }]);
    return batchesUpTo(network, await old.client.getBlockNumber());
  };
  await using liar = await startProxy(old.url, {
    answer: logs((all) => all.map((log) => ({ ...log, data: `0x${"07".repeat(32)}` }))),
  });
  await expect(reading(liar.url)).rejects.toMatchObject({ lie: "receipt of a transaction" });
  // A node without receipts of old blocks, or one that refuses to give them, is believed.
  await using forgetful = await startProxy(old.url, {
    answer: ({ method }, result) => (method === "eth_getTransactionReceipt" ? null : result),
  });
  await using strict = await startProxy(old.url, {
    answer: ({ method }, result) =>
      method === "eth_getTransactionReceipt" ? new Refusal(-32601, "not available") : result,
  });
  const whole = await reading(old.url);
  expect(await reading(forgetful.url)).toEqual(whole);
  expect(await reading(strict.url)).toEqual(whole);
});

test("a false time in old blocks is caught by neighbouring blocks, wherever a range ends", async () => {
  await using old = await startAnvil();
  const issued = await old.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  for (let i = 1; i <= 5; i += 1) await old.send(issued, "transfer", [old.wallet(i), i]);
  await old.client.mine({ blocks: 100 });
  const type = "comakery_security_token_v4";
  const head = await old.client.getBlockNumber();
  const reading = async (url: string, first = 1) => {
    const network = networkOf([url], old.chainId, [
      { address: issued.address, type, fromBlock: first },
    ]);
    const range = { first: 3, most: 3, logs: 10_000 };
    return batchesUpTo(network, head, { range });
  };
  expect((await reading(old.url)).length).toBeGreaterThan(1);
  // Blocks 1 to 3 are read together, then 4 to 6.
  const lies: readonly (readonly [number, number])[] = [
    [1, -100_000],
    [2, 100_000],
    [3, 50],
    [4, -50],
    [6, 50],
  ];
  for (const [number, seconds] of lies) {
    await using liar = await startProxy(old.url, { answer: time(number, seconds) });
    await expect(reading(liar.url), `block ${number}`).rejects.toMatchObject({
      lie: "time of a block",
    });
  }
  // A node that keeps no older blocks than the first is believed.
  await using pruned = await startProxy(old.url, {
    answer: ({ params }, result) => (params[0] === "0x0" ? null : result),
  });
  expect(await reading(pruned.url)).not.toEqual([]);
});

test("a chain whose clock was set years ahead is read", async () => {
  await using ahead = await startAnvil();
  const issued = await ahead.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  const network = networkOf([ahead.url], ahead.chainId, [
    { address: issued.address, type: "comakery_security_token_v4" },
  ]);
  await ahead.client.increaseTime({ seconds: 2 * 365 * 86_400 });
  await ahead.send(issued, "transfer", [ahead.wallet(1), 1]);
  const batches = await batchesUpTo(network, await ahead.client.getBlockNumber());
  expect(batches.flatMap(({ facts }) => facts).length).toBeGreaterThan(1);
});

test("an RPC of another chain stops the reader, or is set aside beside a right one", async () => {
  await using proxy = await startProxy(chain.url, {
    answer: ({ method }, result) => (method === "eth_chainId" ? "0x1" : result),
  });
  const network = networkOf([proxy.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4" },
  ]);
  await expect(batchesUpTo(network, head)).rejects.toMatchObject({
    name: "WrongChainError",
    remedy: "stop",
    message: `${proxy.url} is of chain 1, configured is chain 31337`,
  });
  const rpc = quickRpc(network, [proxy.url, chain.url]);
  expect(await batchesUpTo(network, head, { rpc })).not.toEqual([]);
  expect(rpc.status().map(({ state }) => state)).toEqual(["wrong chain", "good"]);
});

test("a lagging RPC is not mistaken for a reorganisation", async () => {
  const network = networkOf([chain.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v4" },
  ]);
  const batches = await batchesUpTo(network, head);
  const blocks = batches.flatMap((batch) => batch.blocks);
  const start = {
    blocks,
    finalBlock: 1n,
    nextBlock: new Map([[token.address, head + 1n]]),
    firstBlock: new Map(),
    schedules: new Map(),
  };
  const behind = blocks.at(-3);
  let asked = 0;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method, params }, result) => {
      if (method !== "eth_getBlockByNumber") return result;
      asked += 1;
      // The third look finds it where the chain is.
      if (asked > 6) return result;
      if (params[0] !== "latest") return null;
      return {
        ...Object(result),
        number: `0x${behind?.number.toString(16)}`,
        hash: behind?.hash,
        parentHash: behind?.parentHash,
      };
    },
  });
  await chain.send(token, "transfer", [chain.wallet(7), 7]);
  const now = await chain.client.getBlockNumber();
  const rpc = quickRpc(network, [proxy.url]);
  const more = await batchesUpTo(network, now, { rpc, start });
  expect(more.map(({ rollback }) => rollback)).toEqual(more.map(() => null));
  const numbers = more.flatMap(({ facts }) => facts).map(({ block }) => block.number);
  expect([...new Set(numbers)]).toEqual([now]);
});
