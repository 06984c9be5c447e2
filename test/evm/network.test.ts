/** Configured tokens become chains to read, or a line that says what is wrong. */
import { expect, test } from "vitest";
import { networksOf } from "../../src/evm/contract/network.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { evmAsset } from "./asset.ts";

const other = `0x${"cd".repeat(20)}` as const;

const token = (members: Partial<EvmToken> = {}): EvmToken =>
  evmAsset({
    network: "avalanche_fuji",
    chainId: 43_113,
    rpc: ["https://one.example"],
    address: `0x${"ab".repeat(20)}`,
    fromBlock: 5,
    finality: 12,
    ...members,
  });

test("tokens of one chain share its reader, once each, and all their RPCs", () => {
  const [fuji, base, ...more] = networksOf([
    token(),
    token({ address: other, rpc: ["https://two.example", "https://one.example"] }),
    // The same token in another project.
    token({ name: "the-same" }),
    token({ network: "base", chainId: 8453, finality: "safe" }),
  ]);
  expect(more).toEqual([]);
  expect(base).toMatchObject({ name: "base", chainId: 8453, finality: "safe" });
  expect(fuji?.rpc).toEqual(["https://one.example", "https://two.example"]);
  expect(fuji?.tokens.map(({ address }) => address)).toEqual([`0x${"ab".repeat(20)}`, other]);
});

test.for<[string, readonly EvmToken[]]>([
  ["finality 12 and with safe", [token(), token({ address: other, finality: "safe" })]],
  ["network avalanche_fuji and with fuji", [token(), token({ network: "fuji" })]],
  ["fromBlock 5 and with 6", [token(), token({ fromBlock: 6 })]],
  ['set "lockup" to its address', [token({ type: "comakery_security_token_v1" })]],
  ['set "lockup" to null', [token({ lockup: other })]],
  ['set "identityRegistry" to null', [token({ identityRegistry: other })]],
])("settings that exclude each other are refused: %s", ([message, settings]) => {
  expect(() => networksOf(settings)).toThrowError(
    expect.objectContaining({
      name: "NetworkSettingsError",
      remedy: "stop",
      message: expect.stringContaining(message),
    }),
  );
});
