// @module-tag thorough
/** What the first 300 checkpoints of any demo ledger hold. */
import { expect, test } from "vitest";
import { createDemoLedger, type DemoLedger } from "../../demo/demo-ledger.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { readCheckpointData } from "../ledger/wire-types.ts";

const COUNT = 300;
const SEEDS = ["7", "another", "0xfeed"];

/** Everything worth listing that a ledger's first checkpoints hold. */
const happenings = (ledger: DemoLedger): ReadonlySet<string> => {
  const seen = new Set<string>();
  const [first = "", second = ""] = ledger.packages;
  const [copy = "", exchange = ""] = ledger.foreignPackages;
  const whose = (address: string): string =>
    new Map([
      [first, "v1"],
      [second, "v2"],
      [copy, "copy"],
      [exchange, "exchange"],
      [`0x${"2".padStart(64, "0")}`, "framework"],
    ]).get(address) ?? "other";
  const named = (type: string) => `${whose(type.slice(0, 66))}::${type.slice(68).split("<")[0]}`;

  for (let n = 0; n < COUNT; n += 1) {
    const made = ledger.next();
    const bytes = made.raw("bcs");
    const checkpoint = decodeCheckpoint({ sequence: made.sequence, encoding: "bcs", bytes });
    if (checkpoint.transactions.length === 0) seen.add("checkpoint without a transaction");
    if (checkpoint.transactions.length === 1) seen.add("checkpoint with the clock alone");
    const writes = new Map<string, number>();
    const born = new Set<string>();
    for (const { events, outputObjects, removedObjects } of checkpoint.transactions) {
      for (const event of events) {
        seen.add(`event ${named(event.type)}`);
        const code = whose(event.packageId);
        if (code.startsWith("v")) seen.add(`event ${named(event.type)} by ${code}`);
      }
      for (const { id, type } of outputObjects) {
        seen.add(`object ${named(type)}`);
        const times = (writes.get(id) ?? 0) + 1;
        writes.set(id, times);
        if (times >= 3) seen.add(`several writes ${named(type)}`);
        if (times === 1) born.add(id);
      }
      for (const { id, type } of removedObjects) {
        if (born.has(id)) seen.add(`gone where it came ${named(type)}`);
      }
    }
    for (const { effects, signed, outputs } of readCheckpointData(bytes).transactions) {
      const { V2 } = effects.value;
      const { kind } = signed[0]?.data.value.V1 ?? {};
      for (const { Publish, Upgrade } of kind?.ProgrammableTransaction?.commands ?? []) {
        if (Publish !== undefined) seen.add("publish");
        if (Upgrade !== undefined) seen.add("upgrade");
      }
      const failure = V2?.status.Failure?.error;
      if (failure !== undefined) {
        seen.add(`failed ${failure.$kind}`);
        for (const { value } of outputs) {
          if (value.owner.Shared !== undefined) seen.add("failed, shared object written");
        }
      }
    }
  }
  return seen;
};

const EXPECTED = [
  ...["Mint", "Burn", "RoleChange"].map((name) => `event v1::controlled_treasury::${name}`),
  ...["Transfer", "ForceTransfer"].map((name) => `event v1::shared_token::${name}`),
  ...[
    "HolderAdded",
    "HolderRemoved",
    "HolderAddressAdded",
    "HolderAddressRemoved",
    "AddressJoinedGroup",
    "AddressLeftGroup",
  ].map((name) => `event v1::group_holder_config::${name}`),
  "event v2::freeze_rule::AddressFrozen",
  // Types keep the address of the version that defined them, whichever version's code runs.
  "event v1::controlled_treasury::Mint by v1",
  "event v1::controlled_treasury::Mint by v2",
  "event v2::freeze_rule::AddressFrozen by v2",
  "object v1::shared_token::SharedToken",
  "object v1::controlled_treasury::ControlledTreasury",
  "object v2::timelock::Timelock",
  "object framework::coin::CoinMetadata",
  "object framework::coin_registry::Currency",
  // Names of ours, addresses of others.
  "event copy::shared_token::Transfer",
  "event copy::controlled_treasury::Mint",
  "event copy::controlled_treasury::RoleChange",
  "object copy::shared_token::SharedToken",
  "object copy::timelock::Timelock",
  "event exchange::pool::Swapped",
  "object exchange::ticket::Ticket",
  "publish",
  "upgrade",
  "failed MoveAbort",
  "failed InsufficientGas",
  "failed, shared object written",
  "several writes v1::shared_token::SharedToken",
  "gone where it came v1::shared_token::SharedToken",
  "checkpoint without a transaction",
  "checkpoint with the clock alone",
];

test.each(SEEDS)("the first 300 checkpoints of seed %s show every kind of event", (seed) => {
  const ledger = createDemoLedger({ seed });
  const seen = happenings(ledger);
  expect(EXPECTED.filter((one) => !seen.has(one))).toEqual([]);

  const { model } = ledger;
  const [first = ""] = ledger.packages;
  for (const { coinType } of ledger.coinTypes) {
    const ofCoin = <Event extends { readonly coinType: string }>(events: readonly Event[]) =>
      events.filter((event) => event.coinType === coinType);
    const register = model.registers.get(coinType);
    expect(new Set(ofCoin(model.activity).map((e) => e.activityType))).toEqual(
      new Set(["mint", "burn", "transfer", "force_transfer"]),
    );
    expect(new Set(ofCoin(model.holderEvents).map((e) => e.eventType)).size).toBe(7);
    expect(new Set(ofCoin(model.holderEvents).map((e) => e.isFrozen))).toContain(false);
    // Holder 0 is a holder, and there are holders with several wallets.
    expect(register?.holders.get(0n)?.length).toBe(2);
    // Roles of ours given and taken, and one of the same name from elsewhere.
    const roles = ofCoin(model.roleEvents);
    expect(roles.some(({ granted }) => !granted)).toBe(true);
    expect(roles.some(({ role }) => !role.startsWith(first) && role.includes("::roles::"))).toBe(
      true,
    );
    // A grant cancelled or claimed in part, and funded by the issuer.
    expect([...model.grants.values()].some((grant) => grant.coinType === coinType)).toBe(true);
  }
  expect(ledger.coinTypes.length).toBeGreaterThanOrEqual(4);
  expect(ledger.coinTypes.some(({ metadata }) => metadata === "Currency")).toBe(true);
});

test("joining a group while in another leaves it first, in the same transaction", () => {
  const ledger = createDemoLedger({ seed: "groups" });
  for (let n = 0; n < COUNT; n += 1) ledger.next();
  const { holderEvents } = ledger.model;
  const moves = holderEvents.filter((event, index) => {
    const next = holderEvents[index + 1];
    return (
      event.eventType === "address_left_group" &&
      next?.eventType === "address_joined_group" &&
      next.txDigest === event.txDigest &&
      next.address === event.address &&
      next.eventSeq === event.eventSeq + 1
    );
  });
  expect(moves.length).toBeGreaterThan(0);
});

test("grants are funded, claimed, cancelled and destroyed, in tokens and in bytes", () => {
  const ledger = createDemoLedger({ seed: "grants", actionsPerCheckpoint: 4 });
  const before = new Map<string, { readonly left: bigint; readonly claimed: bigint }>();
  const seen = new Set<string>();
  for (let n = 0; n < COUNT; n += 1) {
    ledger.next();
    const { grants } = ledger.model;
    for (const [id, { leftBalance: left, tokensTransferred: claimed }] of grants) {
      const was = before.get(id);
      if (was === undefined) seen.add("funded");
      else if (claimed > was.claimed) seen.add(left === 0n ? "claimed all" : "claimed in part");
      else if (left < was.left) seen.add("cancelled");
      before.set(id, { left, claimed });
    }
    for (const [id, { left }] of before) {
      if (grants.has(id)) continue;
      expect(left).toBe(0n);
      seen.add("destroyed");
      before.delete(id);
    }
  }
  expect([...seen].sort()).toEqual(
    ["cancelled", "claimed all", "claimed in part", "destroyed", "funded"].sort(),
  );
});

test("more noise leaves more checkpoints without our events", () => {
  const oursIn = (noise: number): number => {
    const ledger = createDemoLedger({ seed: "noise", noise });
    for (let n = 0; n < 600; n += 1) ledger.next();
    return ledger.model.activity.length;
  };
  const [none, some, all] = [oursIn(0), oursIn(0.6), oursIn(1)];
  expect(none).toBeGreaterThan(some);
  expect(some).toBeGreaterThan(all);
});
