/** Records of a token's logs, on logs written by hand: what no reference contract emits. */

import {
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  pad,
  parseAbiItem,
  toEventSelector,
  toFunctionSelector,
  toHex,
} from "viem";
import { expect, test } from "vitest";
import { contractEvents, eventName } from "../../src/evm/contract/events.ts";
import type { Address, EvmFact, EvmTransaction } from "../../src/evm/contract/fact.ts";
import { movingBySelector } from "../../src/evm/contract/functions.ts";
import { readTransfers, walletsOf } from "../../src/evm/movements/transfers.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { evmAsset } from "./asset.ts";

const wallet = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
const tokenAddress = wallet(0xaaaa);
const shape = (
  version: 1 | 2 | 3 | 4 | 5,
  lockup: Address | null = null,
  identityRegistry: Address | null = null,
): EvmToken =>
  evmAsset({
    chainId: 1,
    rpc: [],
    address: tokenAddress,
    type: `comakery_security_token_v${version}`,
    lockup,
    identityRegistry,
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

test("selectors are those known from the deployed contracts' logs and calls", () => {
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

test("fundings of the first lockups, without indexed ids and cancellers, are joined too", () => {
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

test("groups are the known ones until a log of the same transaction changes them", () => {
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
  expect(walletsOf(shape(3), facts)).toEqual(new Set([wallet(1), wallet(2)]));
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

test("logs that contradict the configured type are flagged, and their transfers kept", () => {
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

test("a Transfer not of the ERC-20 form stops the token, naming the log", () => {
  const nft = fact(7, [transferTopic, pad("0x1"), pad("0x2"), pad("0x3")], "0x");
  expect(() => readTransfers(shape(4), [nft], new Map())).toThrowError(
    expect.objectContaining({
      name: "UndecodableLogError",
      remedy: "stop",
      message: expect.stringMatching(/log 7 of block 5 .*Transfer/),
    }),
  );
});

test.for<[string, EvmToken, Address]>([
  ["lockup", shape(1, wallet(0xbbbb)), wallet(0xbbbb)],
  ["registry", shape(5, null, wallet(0xcccc)), wallet(0xcccc)],
])(
  "a Transfer that a %s logs of its own, of whatever form, is no record of the token",
  ([, token, address]) => {
    const facts = [
      { ...moved(0, wallet(1), wallet(2), 3n), address },
      // An identity that is an ERC-721 token.
      fact(1, [transferTopic, pad(wallet(0)), pad(wallet(2)), pad("0x3")], "0x", { address }),
      moved(2, wallet(1), wallet(2), 4n),
    ];
    const { transfers } = readTransfers(token, facts, new Map());
    expect(transfers.map(({ amount }) => amount)).toEqual([4n]);
    expect(walletsOf(token, facts)).toEqual(new Set([wallet(1), wallet(2)]));
  },
);

test("groups and fundings are accepted only from the contract generation that has them", () => {
  const registry = wallet(0xcccc);
  const lockup = wallet(0xbbbb);
  const groupSet = (address: Address) =>
    fact(
      0,
      [
        toEventSelector("AddressTransferGroup(address,address,uint256)"),
        pad(wallet(9)),
        pad(wallet(2)),
        pad("0x8"),
      ],
      "0x",
      { address },
    );
  const regionAdded = (address: Address) =>
    fact(
      1,
      [toEventSelector("RegionAdded(address,address,uint256)"), pad(wallet(9)), pad(wallet(2))],
      toHex(840n, { size: 32 }),
      { address },
    );
  const groupsOf = (token: EvmToken) =>
    readTransfers(
      token,
      [tokenAddress, registry].flatMap((address) => [groupSet(address), regionAdded(address)]),
      new Map(),
    ).groupChanges.map(({ groups }) => groups);
  expect(groupsOf(shape(5, null, registry))).toEqual([[840n]]);
  expect(groupsOf(shape(4, null, registry))).toEqual([[8n]]);
  expect(groupsOf(shape(1, lockup))).toEqual([]);

  const funded = (address: Address) =>
    fact(
      2,
      [
        toEventSelector(
          "ScheduleFunded(address,address,uint256,uint256,uint256,uint256,address[])",
        ),
        pad(wallet(1)),
        pad(wallet(2)),
        pad("0x3"),
      ],
      encodeAbiParameters(
        [{ type: "uint256" }, { type: "uint256" }, { type: "uint256" }, { type: "address[]" }],
        [40n, 1_600_000_000n, 6n, []],
      ),
      { address },
    );
  const vestingOf = (token: EvmToken, to: Address, by: Address) =>
    readTransfers(token, [moved(0, wallet(1), to, 40n), funded(by)], new Map()).transfers.map(
      ({ vesting }) => vesting?.scheduleId ?? null,
    );
  expect(vestingOf(shape(1, lockup), lockup, lockup)).toEqual([3n]);
  expect(vestingOf(shape(1, lockup), lockup, tokenAddress)).toEqual([null]);
  expect(vestingOf(shape(5, null, registry), wallet(2), registry)).toEqual([null]);
});
