/** Records of a token's logs, on logs written by hand: what no reference contract emits. */
import {
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  pad,
  parseAbi,
  parseAbiItem,
  toEventSelector,
  toFunctionSelector,
  toHex,
} from "viem";
import { expect, test } from "vitest";
import { contractEvents, eventName } from "../../src/evm/contract/events.ts";
import { movingBySelector, movingFunctions } from "../../src/evm/contract/functions.ts";
import type { Address, EvmFact, EvmTransaction } from "../../src/evm/fact.ts";
import { methodNames } from "../../src/evm/method-name.ts";
import { readTransfers, type TokenShape, walletsOf } from "../../src/evm/transfers.ts";

const wallet = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
const tokenAddress = wallet(0xaaaa);
const shape = (version: 1 | 2 | 3 | 4 | 5, lockup: Address | null = null): TokenShape => ({
  address: tokenAddress,
  type: `comakery_security_token_v${version}`,
  lockup,
});

const transaction = (members: Partial<EvmTransaction> = {}): EvmTransaction => ({
  hash: pad("0x1"),
  index: 0,
  from: wallet(1),
  to: tokenAddress,
  nonce: 0n,
  input: toFunctionSelector("transfer(address,uint256)"),
  ...members,
});

const fact = (
  logIndex: number,
  topics: readonly [Hex, ...Hex[]],
  data: Hex,
  members: Partial<EvmFact> = {},
): EvmFact => ({
  token: tokenAddress,
  address: tokenAddress,
  topics,
  data,
  logIndex,
  block: { number: 5n, hash: pad("0x5"), timestamp: 1_700_000_000n },
  transaction: transaction(),
  ...members,
});

const transferTopic = toEventSelector("Transfer(address,address,uint256)");
const moved = (index: number, from: Address, to: Address, amount: bigint) =>
  fact(index, [transferTopic, pad(from), pad(to)], toHex(amount, { size: 32 }));

test("selectors are those that the deployed contracts are known to log and to be called by", () => {
  const topic = (name: string) =>
    contractEvents
      .filter((event) => event.name === name)
      .map((event) => toEventSelector(event).slice(2, 10));
  expect(topic("Transfer")).toEqual(["ddf252ad"]);
  expect(topic("ScheduleCreated")).toEqual(["9c52cb9b"]);
  expect(topic("ScheduleFunded")).toEqual(["8d929423", "e9158f27"]);
  expect(topic("TimelockCanceled")).toEqual(["6945f478"]);
  expect(topic("AddressTransferGroup")).toEqual(["f213aa44"]);
  expect(topic("ForceTransferBetween")).toEqual(["c99b2bde"]);
  const selectors = [
    ["transferTimelock", "a9b1f051"],
    ["fundReleaseSchedule", "8e4f11ff"],
    ["batchFundReleaseSchedule", "b7ed4785"],
    ["cancelTimelock", "0f8ad1b4"],
    ["burn", "42966c68"],
    ["mint", "40c10f19"],
    ["burn", "9dc29fac"],
    ["forceTransferBetween", "20f5728d"],
    ["batchTransfer", "88d695b2"],
  ] as const;
  for (const [name, selector] of selectors) {
    expect(movingBySelector.get(`0x${selector}`)?.name).toBe(name);
  }
  expect(eventName(transferTopic)).toBe("Transfer");
});

test("the first lockups' fundings, without indexed ids and cancelers, are joined too", () => {
  const lockup = wallet(0xbbbb);
  const early = parseAbiItem(
    "event ScheduleFunded(address indexed from, address indexed to, uint256 indexed scheduleId, uint256 amount, uint256 commencementTimestamp, uint256 timelockId)",
  );
  const [topic = "0x", ...topics] = encodeEventTopics({
    abi: [early],
    args: { from: wallet(1), to: wallet(2), scheduleId: 3n },
  }).filter((each) => typeof each === "string");
  const data = encodeAbiParameters(
    [{ type: "uint256" }, { type: "uint256" }, { type: "uint256" }],
    [40n, 1_600_000_000n, 6n],
  );
  const { transfers, doubts } = readTransfers(
    shape(1, lockup),
    [moved(0, wallet(1), lockup, 40n), fact(2, [topic, ...topics], data, { address: lockup })],
    new Map(),
  );
  expect(doubts).toEqual([]);
  expect(transfers).toMatchObject([
    { vesting: { scheduleId: 3n, commencementTimestamp: 1_600_000_000n, timelockId: 6n } },
  ]);
});

test("groups are those known before, until a log of the same transaction changes them", () => {
  const topics = (group: bigint): [Hex, ...Hex[]] => [
    toEventSelector("AddressTransferGroup(address,address,uint256)"),
    pad(wallet(9)),
    pad(wallet(2)),
    toHex(group, { size: 32 }),
  ];
  const facts = [
    moved(0, wallet(1), wallet(2), 1n),
    fact(1, topics(8n), "0x"),
    moved(2, wallet(1), wallet(2), 1n),
    fact(3, topics(0n), "0x"),
  ];
  expect(walletsOf(facts)).toEqual(new Set([wallet(1), wallet(2)]));
  const groups = new Map([[wallet(2), [5n]]]);
  const { transfers, groupChanges } = readTransfers(shape(3), facts, groups);
  expect(transfers.map(({ fromGroup, toGroup }) => [fromGroup, toGroup])).toEqual([
    [0n, 5n],
    [0n, 8n],
  ]);
  expect(groups.get(wallet(2))).toEqual([0n]);
  expect(groupChanges).toEqual([
    { wallet: wallet(2), groups: [8n], block: 5n, logIndex: 1 },
    { wallet: wallet(2), groups: [0n], block: 5n, logIndex: 3 },
  ]);
});

test("logs that the configured type does not explain are doubted, and their transfers kept", () => {
  const minted = fact(
    1,
    [
      toEventSelector("TokenTypeMinted(address,uint256,uint256,uint256)"),
      pad(wallet(2)),
      pad("0x1"),
    ],
    "0x",
  );
  const { transfers, doubts } = readTransfers(
    shape(2),
    [moved(0, wallet(0), wallet(2), 1n), minted],
    new Map(),
  );
  expect(transfers.length).toBe(1);
  expect(doubts).toMatchObject([{ logIndex: 1, message: expect.stringContaining("version 4, 5") }]);

  // The function that burned is one of version 1.
  const burned = {
    ...moved(0, wallet(2), wallet(0), 1n),
    transaction: transaction({ input: toFunctionSelector("burn(uint256)") }),
  };
  const early = readTransfers(shape(2), [burned], new Map());
  expect(early.transfers).toMatchObject([{ methodName: "burn" }]);
  expect(early.doubts).toMatchObject([{ message: expect.stringContaining("of version 1,") }]);
});

test("a Transfer that is not of the ERC-20 form stops the token, naming the log", () => {
  const nft = fact(7, [transferTopic, pad("0x1"), pad("0x2"), pad("0x3")], "0x");
  expect(() => readTransfers(shape(4), [nft], new Map())).toThrowError(
    expect.objectContaining({
      name: "UndecodableLogError",
      remedy: "stop",
      message: expect.stringMatching(/log 7 of block 5 .*Transfer/),
    }),
  );
});

test("a Transfer that a lockup logs of its own is no record of the token", () => {
  const lockup = wallet(0xbbbb);
  const foreign = { ...moved(0, wallet(1), wallet(2), 3n), address: lockup };
  const { transfers } = readTransfers(
    shape(1, lockup),
    [foreign, moved(1, wallet(1), wallet(2), 4n)],
    new Map(),
  );
  expect(transfers.map(({ amount }) => amount)).toEqual([4n]);
});

const named = (
  members: Partial<EvmTransaction>,
  moves: { from?: Address; to?: Address; amount?: bigint } = {},
) =>
  methodNames(
    transaction(members),
    new Set([tokenAddress]),
  )({ from: wallet(1), to: wallet(2), amount: 5n, ...moves });

const call = (functionName: "transfer" | "mint", to: Address, amount: bigint) =>
  encodeFunctionData({ abi: movingFunctions, functionName, args: [to, amount] });

const relays = parseAbi([
  "function aggregate((address target, bytes callData)[] calls)",
  "function execute((address from, address to, uint256 value, uint256 gas, uint256 nonce, bytes data) request, bytes signature)",
  "function executeBatch(address[] targets, bytes[] data)",
  "function multicall(bytes[] data)",
]);

const aggregate = (...calls: readonly (readonly [Address, Hex])[]) =>
  encodeFunctionData({
    abi: relays,
    functionName: "aggregate",
    args: [calls.map(([target, callData]) => ({ target, callData }))],
  });

test("a creating transaction is named only where it created the token itself", () => {
  const to = null;
  const created = getContractAddress({ from: wallet(1), nonce: 4n });
  const contracts = new Set<Address>([`0x${created.slice(2).toLowerCase()}`]);
  const moves = { from: wallet(0), to: wallet(1), amount: 1n };
  expect(methodNames(transaction({ to, nonce: 4n }), contracts)(moves)).toBe("constructor");
  expect(methodNames(transaction({ to, nonce: 5n }), contracts)(moves)).toBe("unknown");
});

test("a method is named by its selector, and an unknown one is not guessed", () => {
  expect(named({})).toBe("transfer");
  expect(named({ input: "0x12345678" })).toBe("unknown");
  expect(named({ input: "0x" })).toBe("unknown");
  expect(named({ to: wallet(77) })).toBe("unknown");
});

test("the call inside a forwarder, a batch or a multicall gives the name", () => {
  const data = call("transfer", wallet(2), 5n);
  const request = { from: wallet(1), to: tokenAddress, value: 0n, gas: 0n, nonce: 0n, data };
  const execute = encodeFunctionData({
    abi: relays,
    functionName: "execute",
    args: [request, "0x"],
  });
  expect(named({ to: wallet(77), input: execute })).toBe("transfer");
  const batch = encodeFunctionData({
    abi: relays,
    functionName: "executeBatch",
    args: [[tokenAddress], [data]],
  });
  expect(named({ to: wallet(77), input: batch })).toBe("transfer");
  const multicall = encodeFunctionData({ abi: relays, functionName: "multicall", args: [[data]] });
  expect(named({ input: multicall })).toBe("transfer");
  // Forwarders forward to forwarders.
  expect(named({ to: wallet(77), input: aggregate([wallet(78), execute]) })).toBe("transfer");
});

test("of several calls only the one that asks for exactly the transfer names it", () => {
  const both = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [tokenAddress, call("mint", wallet(2), 5n)],
  );
  const to = wallet(77);
  expect(named({ to, input: both })).toBe("transfer");
  expect(named({ to, input: both }, { from: wallet(0) })).toBe("mint");
  expect(named({ to, input: both }, { amount: 6n })).toBe("unknown");
  // Somebody else's call may have moved tokens as well.
  const beside = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [wallet(99), "0x12345678"],
  );
  expect(named({ to, input: beside })).toBe("transfer");
  expect(named({ to, input: beside }, { amount: 6n })).toBe("unknown");
  // A cancel computes its amounts: beside another method it could be either.
  const cancel = toFunctionSelector(
    "cancelTimelock(address,uint256,uint256,uint256,uint256,address)",
  );
  const withCancel = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [tokenAddress, cancel],
  );
  expect(named({ to, input: withCancel })).toBe("unknown");
  expect(named({ to, input: aggregate([tokenAddress, cancel]) })).toBe("cancelTimelock");
});

test("input that is torn, nested without end or of absurd size costs little and names nothing", () => {
  let input = call("transfer", wallet(2), 5n);
  for (let depth = 0; depth < 12; depth += 1) input = aggregate([wallet(77), input]);
  expect(named({ to: wallet(77), input })).toBe("unknown");
  const torn: Hex = `0x${aggregate([tokenAddress, call("transfer", wallet(2), 5n)]).slice(2, 180)}`;
  expect(named({ to: wallet(77), input: torn })).toBe("unknown");
});
