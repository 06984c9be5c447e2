/** The two years of the demo's company, and how it goes on: believable, by its rules, and as decoded. */
import { expect, test } from "vitest";
import { CAST, STILL_FROZEN } from "../../demo/company/cast.ts";
import { GROUPS } from "../../demo/company/desk.ts";
import { COMPANY_SPAN_MS } from "../../demo/company/two-years.ts";
import { createDemoLedger, type DemoLedger, type DemoOptions } from "../../demo/demo-ledger.ts";
import { balancesOf, type DemoModel } from "../../demo/model.ts";
import { readCheckpointData } from "../ledger/wire-types.ts";
import { createFactReader, toldByModel } from "./reading.ts";

const NOW = 1_795_800_000_000n;
const FOUNDED = NOW - COMPANY_SPAN_MS;

/** A ledger whose first `history` checkpoints span the two years; four a second come after them. */
const company = (history: number, more: Partial<DemoOptions> = {}): DemoLedger =>
  createDemoLedger({
    seed: "company",
    foundedMs: FOUNDED,
    timeOf: (sequence) =>
      sequence < BigInt(history)
        ? FOUNDED + (sequence * COMPANY_SPAN_MS) / BigInt(history)
        : NOW + (sequence - BigInt(history)) * 250n,
    ...more,
  });

/** Where a movement breaks a rule: of a wallet that is unregistered, frozen, or in a lockup. */
const breaches = ({ activity, holderEvents }: DemoModel): readonly string[] => {
  const wallets = new Set<string>();
  const frozen = new Set<string>();
  const groups = new Map<string, bigint>();
  const found: string[] = [];
  const told = [...activity, ...holderEvents].sort((a, b) => (a.position < b.position ? -1 : 1));
  for (const event of told) {
    if ("activityType" in event) {
      const { activityType, fromAddress, toAddress, coinType } = event;
      const [from, to] = [`${coinType} ${fromAddress}`, `${coinType} ${toAddress}`];
      const isMovement = activityType === "transfer";
      if (toAddress !== null && !wallets.has(to)) found.push(`${event.eventId} to a stranger`);
      if (isMovement && (frozen.has(from) || frozen.has(to))) found.push(`${event.eventId} frozen`);
      if (isMovement && groups.get(from) === GROUPS.lockup && !isOwn(event.toAddress, from))
        found.push(`${event.eventId} in the lockup`);
      continue;
    }
    const wallet = `${event.coinType} ${event.address}`;
    if (event.eventType === "holder_address_added") wallets.add(wallet);
    if (event.eventType === "holder_address_removed") wallets.delete(wallet);
    if (event.eventType === "address_joined_group") groups.set(wallet, event.groupId ?? -1n);
    if (event.eventType === "address_left_group") groups.delete(wallet);
    if (event.isFrozen === true) frozen.add(wallet);
    if (event.isFrozen === false) frozen.delete(wallet);
  }
  return found;

  /** Into another wallet of the same holder, which a lockup allows. */
  function isOwn(to: string | null, from: string): boolean {
    const added = holderEvents.filter(({ eventType }) => eventType === "holder_address_added");
    const holderOf = (wallet: string) =>
      added.find(({ coinType, address }) => `${coinType} ${address}` === wallet)?.holderId;
    const [coinType = ""] = from.split(" ");
    return holderOf(from) === holderOf(`${coinType} ${to}`);
  }
};

test("forty shareholders hold three tokens, every act keeps to the rules, and more is never burned than issued", () => {
  for (const seed of ["one", "two"]) {
    const ledger = company(300, { seed });
    for (let n = 0; n < 300; n += 1) ledger.next();
    const { model } = ledger;
    expect([...model.coins.values()].map(({ symbol }) => symbol)).toEqual([
      "ACME",
      "ACMEP",
      "ACMEO",
    ]);
    expect(breaches(model)).toEqual([]);

    const shareholders = new Set<bigint>();
    const unassigned = new Set<string>();
    for (const { coinType, symbol, supply } of model.coins.values()) {
      const sum = (type: string) =>
        model.activity
          .filter((event) => event.coinType === coinType && event.activityType === type)
          .reduce((total, { amount }) => total + amount, 0n);
      expect(sum("mint") - sum("burn")).toBe(supply);
      expect(sum("burn") * 5n, `burned of ${symbol}`).toBeLessThan(sum("mint"));
      for (const [owner, { tokens, grants }] of balancesOf(model, coinType)) {
        const holderId = model.registers.get(coinType)?.wallets.get(owner);
        if (tokens + grants === 0n || holderId === 0n) continue;
        if (holderId === undefined) unassigned.add(symbol);
        else shareholders.add(holderId);
      }
    }
    expect(shareholders.size).toBeGreaterThan(35);
    expect(shareholders.size).toBeLessThanOrEqual(CAST.length);
    // One who left the company kept what had vested.
    expect([...unassigned]).toEqual(["ACMEO"]);

    const kinds = new Set(
      [...model.activity, ...model.holderEvents].map((event) =>
        "activityType" in event ? event.activityType : `${event.eventType} ${event.isFrozen}`,
      ),
    );
    expect(kinds.size).toBe(4 + 8);
    // Administrators are appointed at the founding; a few change later.
    const later = model.roleEvents.filter(({ checkpoint }) => checkpoint > 10n);
    expect(later.length).toBeGreaterThan(5);
    expect(later.length).toBeLessThan(20);
    expect(later.some(({ granted }) => !granted)).toBe(true);
    const frozen = [...model.registers.values()].flatMap((register) =>
      [...register.frozen.keys()].map((wallet) => register.wallets.get(wallet)),
    );
    const names = CAST.filter(({ holderId }) => frozen.includes(holderId)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(STILL_FROZEN));
  }
}, 60_000);

test("the company's checkpoints decode to its model, with two failed transactions of the contract", () => {
  const ledger = company(100);
  const reader = createFactReader(ledger);
  for (let n = 0; n < 140; n += 1) reader.next();
  const byId = (objects: ReadonlyMap<string, object>) =>
    [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, object]) => ({ id, ...object }));
  expect(byId(reader.tokens)).toEqual(byId(ledger.model.tokens));
  expect(byId(reader.grants)).toEqual(byId(ledger.model.grants));
  expect(reader.told).toEqual(toldByModel(ledger));

  const again = company(60);
  let failed = 0;
  for (let n = 0; n < 60; n += 1) {
    for (const { effects } of readCheckpointData(again.next().raw("bcs")).transactions) {
      if (effects.value.V2?.status.Failure !== undefined) failed += 1;
    }
  }
  expect(failed).toBe(2);
}, 60_000);

test("a history of few checkpoints has the same rounds, grants and court order, and fewer ordinary days", () => {
  const supplies = [40, 300].map((history) => {
    const ledger = company(history);
    for (let n = 0; n < history; n += 1) ledger.next();
    const { coins, activity, grants } = ledger.model;
    expect(activity.some(({ activityType }) => activityType === "force_transfer")).toBe(true);
    expect(grants.size).toBeGreaterThan(15);
    return [...coins.values()].find(({ symbol }) => symbol === "ACMEP")?.supply;
  });
  expect(supplies[0]).toBe(supplies[1]);
});

test("after the two years a few changes come each minute, and no role changes", () => {
  const ledger = company(60);
  for (let n = 0; n < 60; n += 1) ledger.next();
  const before = ledger.snapshot();
  const minutes = 20;
  for (let n = 0; n < minutes * 240; n += 1) ledger.next();
  const { activity, holderEvents, roleEvents } = ledger.model;
  const movements = (activity.length - before.activity.length) / minutes;
  expect(movements).toBeGreaterThan(1);
  expect(movements).toBeLessThan(8);
  const changes = (holderEvents.length - before.holderEvents.length) / minutes;
  expect(changes).toBeLessThan(4);
  expect(roleEvents.length).toBe(before.roleEvents.length);
}, 60_000);

test("more investors than the company begins with join over time", () => {
  const ledger = company(400, { investors: 60 });
  for (let n = 0; n < 400; n += 1) ledger.next();
  const holders = new Set(
    [...ledger.model.registers.values()].flatMap(({ holders: all }) => [...all.keys()]),
  );
  expect(holders.size).toBeGreaterThan(CAST.length + 5);
  expect(holders.size).toBeLessThanOrEqual(61);
}, 60_000);
