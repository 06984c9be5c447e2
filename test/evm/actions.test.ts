/** Every action of every generation on a real chain, against a plain expectation of its records. */
import { concatHex, encodePacked, type Hex, size } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generations, type TokenType } from "../../src/evm/contract/generations.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { type Anvil, type Deployed, startAnvil } from "./anvil.ts";
import { batchesUpTo, networkOf, readingsIn } from "./reading.ts";
import { type Scenario, scenario } from "./scenario.ts";
import { type Leg, shapes } from "./shapes.ts";
import { tokenTypesAndVestingMints } from "./token-types.ts";

let chain: Anvil;

beforeAll(async () => {
  chain = await startAnvil();
});

afterAll(() => chain.stop());

const SUPPLY = 1_000_000;

/** Schedule 0 releases everything at once; of schedule 1 half is released at first. */
const createSchedules = async (token: Deployed) => {
  await chain.send(token, "createReleaseSchedule", [1, 0, 10_000, 0]);
  await chain.send(token, "createReleaseSchedule", [2, 60, 5_000, 315_360_000]);
};

const records = async (token: Deployed, type: TokenType, extra: Partial<EvmToken> = {}) => {
  const network = networkOf([chain.url], chain.chainId, [
    { address: token.address, type, ...extra },
  ]);
  const batches = await batchesUpTo(network, await chain.client.getBlockNumber());
  const reading = readingsIn(network, batches).get(token.address);
  // Everything that the right type logs is explained by it.
  expect(reading?.doubts).toEqual([]);
  return { batches, records: reading?.transfers ?? [] };
};

const vestingTypes = [
  ["comakery_security_token_v2", "SecurityTokenV2"],
  ["comakery_security_token_v3", "SecurityTokenV3"],
  ["comakery_security_token_v4", "SecurityTokenV4"],
  ["comakery_security_token_v5", "SecurityTokenV5"],
] as const;

for (const [type, contractName] of vestingTypes) {
  test(`every movement of ${type} becomes the records of its logs`, async () => {
    const shape = shapes[type];
    const { version, groups } = generations[type];
    const token = await chain.deploy(contractName, ["Acme Shares", "ACME", 6, SUPPLY]);
    const told = scenario(chain, token, groups === "transfer groups");
    const at = told.at;
    const send = (name: string, args: readonly unknown[], from = 0) =>
      chain.send(token, name, args, from);
    const vests = (schedule: number) => (index: number, count: number) =>
      shape.vests(index, count) ? schedule : null;
    const longAgo = 1_000;

    told.expect("constructor", [["0", "A", SUPPLY]]);
    await createSchedules(token);

    if (version !== 5) {
      await send("setTransferGroup", version === 2 ? [at("B"), 7] : [at("B"), 7, false]);
      told.group("B", 7);
    }
    await send("mint", [at("C"), 500]);
    told.expect("mint", [["0", "C", 500]]);

    // Half of it is unlocked at once.
    const { timestamp } = await chain.client.getBlock();
    const begun = timestamp - 120n;
    await send("fundReleaseSchedule", [at("B"), 1_000, begun, 1, [at("A")]]);
    told.expect("fundReleaseSchedule", shape.fund("A", "B", 0, 1_000), vests(1));

    await send("transferTimelock", [at("B"), 100, 0], 1);
    told.expect("transferTimelock", shape.claim("B", "B", 100));
    await send("transfer", [at("C"), 50], 1);
    told.expect("transfer", shape.send("B", "C", 50, 0));
    await send("transfer", [at("C"), 400], 1);
    told.expect("transfer", shape.send("B", "C", 350, 50));

    await send("transfer", [at("D"), 0], 2);
    told.expect("transfer", shape.send("C", "D", 0, 0));
    await send("transfer", [at("C"), 5], 2);
    told.expect("transfer", shape.send("C", "C", 0, 5));
    await send("approve", [at("D"), 20], 2);
    await send("transferFrom", [at("C"), at("D"), 20], 3);
    told.expect("transferFrom", shape.send("C", "D", 0, 20));

    // All that was unlocked is spent: the paid part is zero, and older builds log it all the same.
    await send("cancelTimelock", [at("B"), 0, 1, begun, 1_000, at("E")]);
    told.expect("cancelTimelock", shape.cancel("B", "E", 500, 0));
    await send("fundReleaseSchedule", [at("F"), 60, begun, 1, [at("A")]]);
    told.expect("fundReleaseSchedule", shape.fund("A", "F", 0, 60), vests(1));
    await send("cancelTimelock", [at("F"), 0, 1, begun, 60, at("E")]);
    told.expect("cancelTimelock", shape.cancel("F", "E", 30, 30));

    // Equal amounts, one recipient twice: only the place tells which is which.
    await send("batchFundReleaseSchedule", [
      [at("C"), at("G"), at("C"), at("G")],
      [10, 10, 20, 10],
      [longAgo, begun, longAgo, longAgo],
      [0, 1, 0, 0],
      [],
    ]);
    told.expect("batchFundReleaseSchedule", shape.fund("A", "C", 0, 10), vests(0));
    told.expect("batchFundReleaseSchedule", shape.fund("A", "G", 0, 10), vests(1));
    told.expect("batchFundReleaseSchedule", shape.fund("A", "C", 0, 20), vests(0));
    told.expect("batchFundReleaseSchedule", shape.fund("A", "G", 0, 10), vests(0));

    // The funder spends 30 unlocked and 10 simple tokens, then unlocked ones alone.
    await send("fundReleaseSchedule", [at("H"), 40, longAgo, 0, []], 2);
    told.expect("fundReleaseSchedule", shape.fund("C", "H", 30, 10), vests(0));
    await send("fundReleaseSchedule", [at("I"), 15, longAgo, 0, []], 7);
    told.expect("fundReleaseSchedule", shape.fund("H", "I", 15, 0), vests(0));

    await send("burn", [at("C"), 5]);
    told.expect("burn", [["C", "0", 5]]);
    if (version >= 3) {
      await send("forceTransferBetween", [at("C"), at("B"), 10]);
      told.expect("forceTransferBetween", shape.send("C", "B", 0, 10));
      await send("forceTransferBetween", [at("H"), at("B"), 25]);
      told.expect("forceTransferBetween", shape.send("H", "B", 25, 0));
      await send("batchTransfer", [
        [at("B"), at("J")],
        [1, 2],
      ]);
      told.expect("batchTransfer", shape.send("A", "B", 0, 1));
      told.expect("batchTransfer", shape.send("A", "J", 0, 2));
    }
    if (version === 5) await tokenTypesAndVestingMints(chain, token, told, longAgo);
    if (version === 3 || version === 4) await groupsInside(token, told);
    await throughOthers(token, told);

    const read = await records(token, type);
    expect(told.plain(read.records)).toEqual(told.expected);
    const schedules = read.batches.flatMap((batch) => batch.schedules);
    expect(schedules.map(({ schedule }) => schedule)).toEqual([
      {
        releaseCount: 1n,
        delayUntilFirstReleaseInSeconds: 0n,
        initialReleasePortionInBips: 10_000n,
        periodBetweenReleasesInSeconds: 0n,
      },
      {
        releaseCount: 2n,
        delayUntilFirstReleaseInSeconds: 60n,
        initialReleasePortionInBips: 5_000n,
        periodBetweenReleasesInSeconds: 315_360_000n,
      },
    ]);
  });
}

/** Groups change between the transfers of one transaction: each record has those of its own place. */
const groupsInside = async (token: Deployed, told: Scenario) => {
  const { at } = told;
  const multicall = await chain.deploy("Multicall");
  told.name("M", multicall);
  await chain.send(token, "transfer", [at("M"), 100]);
  told.expect("transfer", [["A", "M", 100]]);
  await chain.send(token, "grantRole", [at("M"), 4]);
  const calls = [
    ["transfer", [at("B"), 1]],
    ["setTransferGroup", [at("B"), 21, false]],
    ["transfer", [at("B"), 2]],
    ["setTransferGroup", [at("B"), 22, false]],
    ["setTransferGroup", [at("M"), 23, false]],
    ["transfer", [at("B"), 3]],
  ] as const;
  await chain.send(multicall, "aggregate3", [
    calls.map(([name, args]) => ({
      target: token.address,
      allowFailure: false,
      callData: chain.encode(token, name, args),
    })),
  ]);
  told.expect("transfer", [["M", "B", 1]]);
  told.group("B", 21);
  told.expect("transfer", [["M", "B", 2]]);
  told.group("B", 22);
  told.group("M", 23);
  told.expect("transfer", [["M", "B", 3]]);
};

/** Calls that reach the token through wallets and relays, and one that cannot be looked into. */
const throughOthers = async (token: Deployed, told: Scenario) => {
  const { at } = told;
  const wallet = await chain.deploy("Wallet");
  const multiSend = await chain.deploy("MultiSend");
  const forwarder = await chain.deploy("Forwarder");
  const opaque = await chain.deploy("Opaque");
  for (const [name, contract] of [
    ["W", wallet],
    ["R", forwarder],
    ["O", opaque],
  ] as const) {
    told.name(name, contract);
    await chain.send(token, "transfer", [contract.address, 50]);
    told.expect("transfer", [["A", name, 50]]);
  }
  await chain.send(token, "grantRole", [at("W"), 2]);
  const toE = (amount: number) => chain.encode(token, "transfer", [at("E"), amount]);
  const exec = (to: string, data: Hex, operation: number) =>
    chain.send(wallet, "execTransaction", [
      to,
      0,
      data,
      operation,
      0,
      0,
      0,
      at("0"),
      at("0"),
      "0x",
    ]);
  await exec(token.address, toE(1), 0);
  told.expect("transfer", [["W", "E", 1]]);

  const packed = [chain.encode(token, "mint", [at("E"), 2]), toE(3)].map((data) =>
    encodePacked(
      ["uint8", "address", "uint256", "uint256", "bytes"],
      [0, token.address, 0n, BigInt(size(data)), data],
    ),
  );
  await exec(multiSend.address, chain.encode(multiSend, "multiSend", [concatHex(packed)]), 1);
  told.expect("mint", [["0", "E", 2]]);
  told.expect("transfer", [["W", "E", 3]]);

  const request = [at("A"), token.address, 0, 500_000, 2_000_000_000, toE(4), "0x"];
  const [from, to, value, gas, deadline, data, signature] = request;
  await chain.send(forwarder, "execute", [{ from, to, value, gas, deadline, data, signature }]);
  told.expect("transfer", [["R", "E", 4]]);
  await chain.send(opaque, "run", [token.address, toE(5)]);
  told.expect("unknown", [["O", "E", 5]]);
};

test("vesting of version 1 is joined to the transfers into its separate lockup", async () => {
  const token = await chain.deploy("SecurityTokenV1", ["Acme Shares", "ACME", 6, SUPPLY]);
  const lockup = await chain.deploy("TokenLockupV1", [token.address]);
  const told = scenario(chain, token, false);
  const { at } = told;
  told.name("L", lockup);
  told.expect("constructor", [["0", "A", SUPPLY]]);
  await createSchedules(lockup);
  await chain.send(token, "approve", [lockup.address, SUPPLY]);
  const leg = (...it: Leg): readonly Leg[] => [it];
  const begun = (await chain.client.getBlock()).timestamp - 120n;

  await chain.send(lockup, "fundReleaseSchedule", [at("B"), 100, 0, 0, [at("A")]]);
  told.expect("fundReleaseSchedule", leg("A", "L", 100), () => 0);
  await chain.send(lockup, "batchFundReleaseSchedule", [
    [at("C"), at("B")],
    [100, 40],
    [0, begun],
    [0, 1],
    [at("A")],
  ]);
  told.expect("batchFundReleaseSchedule", leg("A", "L", 100), () => 0);
  told.expect("batchFundReleaseSchedule", leg("A", "L", 40), () => 1);
  await chain.send(lockup, "transferTimelock", [at("B"), 10, 0], 1);
  told.expect("transferTimelock", leg("L", "B", 10));
  await chain.send(lockup, "transfer", [at("C"), 20], 1);
  told.expect("transfer", leg("L", "C", 20));
  await chain.send(lockup, "cancelTimelock", [at("B"), 1, 1, begun, 40, at("D")]);
  told.expect("cancelTimelock", [
    ["L", "D", 20],
    ["L", "B", 20],
  ]);
  await chain.send(token, "mint", [at("C"), 7]);
  told.expect("mint", leg("0", "C", 7));
  await chain.send(token, "burn", [3]);
  told.expect("burn", leg("A", "0", 3));

  const read = await records(token, "comakery_security_token_v1", { lockup: lockup.address });
  expect(told.plain(read.records)).toEqual(told.expected);
});

test("a version 5 wallet shows the first region that the configured registry lists for it", async () => {
  const token = await chain.deploy("SecurityTokenV5", ["Acme Shares", "ACME", 6, SUPPLY]);
  const registry = await chain.deploy("IdentityRegistry");
  const b = chain.wallet(1);
  const pay = () => chain.send(token, "transfer", [b, 1]);
  await pay();
  await chain.send(registry, "setRegions", [b, [840, 826]]);
  await pay();
  await chain.send(registry, "removeRegion", [b, 840]);
  await chain.send(registry, "addRegion", [b, 276]);
  await pay();
  await chain.send(registry, "removeIdentity", [b]);
  await pay();
  const type = "comakery_security_token_v5";
  const withRegistry = await records(token, type, { identityRegistry: registry.address });
  expect(withRegistry.records.slice(1).map(({ toGroup }) => toGroup)).toEqual([
    null,
    840n,
    826n,
    null,
  ]);
  const without = await records(token, type);
  expect(without.records.map(({ toGroup }) => toGroup)).toEqual([null, null, null, null, null]);
});
