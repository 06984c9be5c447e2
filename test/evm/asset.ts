import type { EvmToken } from "../../src/settings/assets.ts";

/** A token of an assets file with everything that a test does not care about filled in. */
export const evmAsset = (
  token: Pick<EvmToken, "address" | "chainId" | "rpc"> & Partial<EvmToken>,
): EvmToken => ({
  name: `token-${token.address.slice(2, 10)}`,
  ledger: "evm",
  network: "local",
  type: "comakery_security_token_v4",
  fromBlock: 0,
  finality: "latest",
  lockup: null,
  identityRegistry: null,
  groups: {},
  schedules: {},
  ...token,
});
