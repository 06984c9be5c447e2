import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { MOVE_FUNCTIONS } from "../../demo/contract/calls.ts";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import * as eventLayouts from "../../src/ledger/contract/events.ts";
import * as names from "../../src/ledger/contract/names.ts";
import * as objectLayouts from "../../src/ledger/contract/objects.ts";
import { readCheckpointData } from "../ledger/wire-types.ts";

const folder = resolve(import.meta.dirname, "../../contracts/sui/sources");

const sources = async (): Promise<ReadonlyMap<string, string>> => {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".move"));
  const texts = await Promise.all(files.map((name) => readFile(resolve(folder, name), "utf8")));
  return new Map(files.map((name, n) => [name.slice(0, -".move".length), texts[n] ?? ""]));
};

/** Field names of a Move struct, in order. */
const fieldsOf = (source: string, struct: string): readonly string[] => {
  const body =
    new RegExp(`public struct ${struct}<phantom T>[^{]*\\{([^}]*)\\}`).exec(source)?.[1] ?? "";
  return [...body.matchAll(/^\s*(\w+):/gm)].map((match) => match[1] ?? "");
};

const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

test("the Move package has every function that the demo ledger calls", async () => {
  const modules = await sources();
  expect(MOVE_FUNCTIONS.length).toBeGreaterThan(20);
  const missing = MOVE_FUNCTIONS.filter((name) => {
    const [module = "", called = ""] = name.split("::");
    return !modules.get(module)?.includes(`public fun ${called}<T`);
  });
  expect(missing).toEqual([]);
});

test("a call that aborts on the demo ledger aborts in the Move package, with the same code", async () => {
  const modules = await sources();
  const ledger = createDemoLedger({ seed: "aborts", actionsPerCheckpoint: 6 });
  const aborts = new Set<string>();
  for (let n = 0; n < 400; n += 1) {
    for (const { effects } of readCheckpointData(ledger.next().raw("bcs")).transactions) {
      const abort = effects.value.V2?.status.Failure?.error.MoveAbort;
      if (abort === undefined) continue;
      const [{ module, functionName }, code] = abort;
      aborts.add(`${module.name}::${functionName} ${code}`);
    }
  }
  expect(aborts.size).toBeGreaterThan(4);
  for (const abort of aborts) {
    const [, module = "", name = "", code = ""] = /^(\w+)::(\w+) (\d+)$/.exec(abort) ?? [];
    const source = modules.get(module) ?? "";
    const [, constant = ""] = new RegExp(`const (E\\w+): u64 = ${code};`).exec(source) ?? [];
    const body = source.slice(source.indexOf(`fun ${name}<`)).split("\n}\n")[0] ?? "";
    expect(constant, abort).not.toBe("");
    expect(body, abort).toContain(constant);
  }
});

test("the Move package declares every field that the indexer reads", async () => {
  const modules = await sources();
  const layouts = [
    [names.SHARED_TOKEN, objectLayouts.sharedToken],
    [names.TIMELOCK, objectLayouts.timelock],
    [names.MINT, eventLayouts.mint],
    [names.BURN, eventLayouts.burn],
    [names.TRANSFER, eventLayouts.transfer],
    [names.FORCE_TRANSFER, eventLayouts.transfer],
    [names.ROLE_CHANGE, eventLayouts.roleChange],
    [names.HOLDER_ADDED, eventLayouts.holderAdded],
    [names.HOLDER_REMOVED, eventLayouts.holderRemoved],
    [names.HOLDER_ADDRESS_ADDED, eventLayouts.holderAddress],
    [names.HOLDER_ADDRESS_REMOVED, eventLayouts.holderAddress],
    [names.ADDRESS_JOINED_GROUP, eventLayouts.addressGroup],
    [names.ADDRESS_LEFT_GROUP, eventLayouts.addressGroup],
    [names.ADDRESS_FROZEN, eventLayouts.addressFrozen],
  ] as const;
  const zeros = new Uint8Array(512);
  for (const [name, layout] of layouts) {
    const [module = "", struct = ""] = name.split("::");
    const read = Object.keys(layout.parse(zeros)).map(snakeCase);
    const declared = fieldsOf(modules.get(module) ?? "", struct);
    expect(declared, name).toEqual(read);
  }
});
