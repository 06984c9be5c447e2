import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { balancesOf } from "../../demo/model.ts";
import { createFactReader, toldByModel } from "./reading.ts";

test("decoded checkpoints match the model, after every checkpoint", () => {
  for (const seed of ["model a", "model b"]) {
    const ledger = createDemoLedger({ seed, actionsPerCheckpoint: 3 });
    const reader = createFactReader(ledger);
    for (let n = 0; n < 500; n += 1) {
      reader.next();
      expect(reader.tokens.size).toBe(ledger.model.tokens.size);
      expect(reader.grants.size).toBe(ledger.model.grants.size);
      if (n % 10 === 9) {
        expect(byId(reader.tokens)).toEqual(byId(ledger.model.tokens));
        expect(byId(reader.grants)).toEqual(byId(ledger.model.grants));
      }
    }
    expect(reader.told).toEqual(toldByModel(ledger));
    expect(reader.decimals).toEqual(
      new Map(ledger.coinTypes.map(({ coinType, decimals }) => [coinType, decimals])),
    );
    expect(reader.counts().facts).toBeGreaterThan(2_000);
  }
});

const byId = (objects: ReadonlyMap<string, object>) =>
  [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, object]) => ({ id, ...object }));

test("supply equals tokens plus grants, at every checkpoint and for every seed", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const ledger = createDemoLedger({ seed, keepEvents: false, investors: 8 + seed * 10 });
    for (let n = 0; n < 400; n += 1) {
      ledger.next();
      for (const { coinType, supply } of ledger.model.coins.values()) {
        let held = 0n;
        for (const { tokens, grants } of balancesOf(ledger.model, coinType).values()) {
          held += tokens + grants;
        }
        expect(held).toBe(supply);
      }
    }
  }
});

test("events add up to the balances, and roles and register follow from their events", () => {
  const ledger = createDemoLedger({ seed: "sums" });
  for (let n = 0; n < 800; n += 1) ledger.next();
  const { model } = ledger;
  for (const { coinType, supply } of model.coins.values()) {
    let issued = 0n;
    for (const event of model.activity) {
      if (event.coinType !== coinType) continue;
      if (event.activityType === "mint") issued += event.amount;
      if (event.activityType === "burn") issued -= event.amount;
    }
    expect(issued).toBe(supply);

    const roles = new Set<string>();
    for (const { owner, role, granted, coinType: of } of model.roleEvents) {
      if (of !== coinType) continue;
      if (granted) roles.add(`${owner} ${role}`);
      else roles.delete(`${owner} ${role}`);
    }
    const held = [...(model.roles.get(coinType) ?? [])].flatMap(([owner, all]) =>
      all.map((role) => `${owner} ${role}`),
    );
    expect([...roles].sort()).toEqual(held.sort());

    const wallets = new Map<string, bigint>();
    const groups = new Map<string, bigint>();
    const frozen = new Set<string>();
    for (const event of model.holderEvents) {
      const { eventType, address, holderId, groupId, isFrozen } = event;
      if (event.coinType !== coinType || address === null) continue;
      if (eventType === "holder_address_added") wallets.set(address, holderId ?? -1n);
      if (eventType === "holder_address_removed") wallets.delete(address);
      if (eventType === "address_joined_group") groups.set(address, groupId ?? -1n);
      if (eventType === "address_left_group") groups.delete(address);
      if (eventType === "address_frozen" && isFrozen) frozen.add(address);
      if (eventType === "address_frozen" && !isFrozen) frozen.delete(address);
    }
    const register = model.registers.get(coinType);
    expect(wallets).toEqual(register?.wallets);
    expect(groups).toEqual(register?.groups);
    expect(frozen).toEqual(new Set(register?.frozen.keys()));
    expect(new Set(register?.wallets.keys())).toEqual(
      new Set([...(register?.holders.values() ?? [])].flat()),
    );
  }
});

test("the model does not change earlier snapshots", () => {
  const ledger = createDemoLedger({ seed: "snapshot" });
  for (let n = 0; n < 100; n += 1) ledger.next();
  const snapshot = ledger.snapshot();
  const [coin] = ledger.coinTypes;
  const before = balancesOf(snapshot, coin?.coinType ?? "");
  expect(before.size).toBeGreaterThan(3);
  for (let n = 0; n < 100; n += 1) ledger.next();
  expect(balancesOf(snapshot, coin?.coinType ?? "")).toEqual(before);
  expect(snapshot.activity.length).toBeLessThan(ledger.model.activity.length);
});
