import { expect, test } from "vitest";
import { ConfigError } from "../../../src/settings/config-error.ts";
import { readConfig } from "../../../src/settings/read-config.ts";
import type { Resource } from "../../../src/ta/ledgers/relay.ts";
import { suiKeySigner } from "../../../src/ta/ledgers/signer.ts";
import { decoded, openSuiNode, payingCoins, suiRelay } from "../../../src/ta/ledgers/sui-relay.ts";
import { breakableWay } from "../../database/outage.ts";
import { until } from "../../lanes/until.ts";
import { startCircle } from "../processing/circle.ts";
import { GAS_BUDGET } from "../processing/processor.ts";

test("a coin smaller than the budget pays for nothing, whoever sent it", () => {
  const coins = [
    { objectId: "0x1", balance: 49n },
    { objectId: "0x2", balance: 50n },
    { objectId: "0x3", version: 7n },
    { balance: 100n },
  ];
  expect(payingCoins(coins, 50n)).toEqual([
    { name: "sui:0x2", version: "" },
    { name: "sui:0x3", version: "7" },
  ]);
});

test("coins that can pay are found on all pages up to a bound, and not finding any says how far", async () => {
  // The demo's node gives 50 coins of 1,000 SUI on a page.
  await using circle = await startCircle({ gasCoins: 120 });
  const { coinType, node, registrar, source } = circle;
  const sui = openSuiNode({ host: node.host, tls: false });
  const relayWith = (gasBudget: bigint) =>
    suiRelay({
      node: sui,
      signer: suiKeySigner(source.secretKey(registrar)),
      coinType,
      packageId: async () => source.packages.at(-1) ?? "",
      treasuryId: async () => undefined,
      gasBudget,
    });
  const names = (resources: readonly Resource[]) => new Set(resources.map(({ name }) => name));
  const { signal } = new AbortController();
  try {
    expect(names(await relayWith(GAS_BUDGET).resources(signal)).size).toBe(120);
    const tooMuch = 1_001n * 1_000_000_000n;
    await expect(relayWith(tooMuch).resources(signal)).rejects.toThrow(/to pay gas with$/);

    await source.submit({ sender: registrar, calls: [], gasCoins: 430 });
    expect(await relayWith(GAS_BUDGET).resources(signal)).toHaveLength(200);
    await expect(relayWith(tooMuch).resources(signal)).rejects.toThrow(
      "first 500 coins: merge them",
    );
  } finally {
    sui.close();
  }
});

test("a connection that fell silent without ending is replaced", async () => {
  await using circle = await startCircle({ gasCoins: 1 });
  await using way = await breakableWay(`http://${circle.node.host}`);
  const { host } = new URL(way.url);
  const node = openSuiNode({ host, tls: false, pings: { everyMs: 200, answerMs: 200 } });
  const info = () =>
    node.client.ledgerService.getServiceInfo({}, { timeout: 1_000 }).response.then(
      () => "an answer",
      (error: Error) => error.message,
    );
  try {
    await until("the first answer", info, (seen) => seen === "an answer");
    way.fallSilent();
    expect(await info()).not.toBe("an answer");
    way.speakAgain();
    await until("an answer on another connection", info, (seen) => seen === "an answer");
  } finally {
    node.close();
  }
});

test("a refusal is quoted in the node's words, percent-encoded or not", () => {
  expect(decoded("100%25 of the stake refused it")).toBe("100% of the stake refused it");
  expect(decoded("100% of the stake refused it")).toBe("100% of the stake refused it");
});

test("the gas budget is 0.05 SUI by default, and an impossible one is refused", () => {
  expect(readConfig({}).ta.suiGasBudget).toBe(50_000_000n);
  expect(readConfig({ TA_SUI_GAS_BUDGET: "120000000" }).ta.suiGasBudget).toBe(120_000_000n);
  for (const wrong of ["0.05", "-1", "999999", "50000000001"]) {
    const read = () => readConfig({ TA_SUI_GAS_BUDGET: wrong });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow("TA_SUI_GAS_BUDGET");
  }
});
