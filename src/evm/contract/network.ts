/** The chains to read and their tokens, from the configuration. */
import type { EvmToken } from "../../settings/assets.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { generations } from "./generations.ts";

/** A tag of the chain, or a number of blocks below the head. */
export type Finality = EvmToken["finality"];

export type EvmNetwork = {
  readonly name: string;
  readonly chainId: number;
  /** Tried in order. */
  readonly rpc: readonly string[];
  readonly finality: Finality;
  /** Each address once: for a token of several projects, its first entry in the file. */
  readonly tokens: readonly EvmToken[];
};

/** Tokens of one chain have contradictory settings: correct the file. */
export class NetworkSettingsError extends Error {
  override readonly name = "NetworkSettingsError";
  readonly remedy: Remedy = "stop";
}

/**
 * One network per chain id, each token once, with all their RPC URLs.
 * @throws NetworkSettingsError (stop) when tokens of one chain disagree on its name or finality,
 *   when one address is configured in two ways, when a version 1 token has no lockup, or when
 *   another one than version 5 has an identity registry
 */
export const networksOf = (tokens: readonly EvmToken[]): readonly EvmNetwork[] => {
  const networks = new Map<number, EvmNetwork>();
  for (const token of tokens) {
    const { network: name, chainId, finality, rpc } = token;
    checkContracts(token);
    const network = networks.get(chainId) ?? { name, chainId, rpc: [], finality, tokens: [] };
    agree(`chain ${chainId}`, "network", network.name, name);
    agree(`chain ${chainId}`, "finality", network.finality, finality);
    const same = network.tokens.find(({ address }) => address === token.address);
    if (same !== undefined) {
      const where = `token ${token.address} on chain ${chainId}`;
      agree(where, "type", same.type, token.type);
      agree(where, "lockup", same.lockup, token.lockup);
      agree(where, "identityRegistry", same.identityRegistry, token.identityRegistry);
      agree(where, "fromBlock", same.fromBlock, token.fromBlock);
    }
    networks.set(chainId, {
      ...network,
      rpc: [...new Set([...network.rpc, ...rpc])],
      tokens: same === undefined ? [...network.tokens, token] : network.tokens,
    });
  }
  return [...networks.values()];
};

const checkContracts = ({ address, type, lockup, identityRegistry }: EvmToken) => {
  const separate = type === "comakery_security_token_v1";
  if (separate && lockup === null) {
    throw new NetworkSettingsError(
      `token ${address}: ${type} keeps vesting in a contract of its own; set "lockup" to its address`,
    );
  }
  if (!separate && lockup !== null) {
    throw new NetworkSettingsError(
      `token ${address}: ${type} has no lockup contract; set "lockup" to null`,
    );
  }
  if (identityRegistry !== null && generations[type].groups !== "regions") {
    throw new NetworkSettingsError(
      `token ${address}: ${type} has no identity registry, only version 5 has; set "identityRegistry" to null`,
    );
  }
};

const agree = (where: string, what: string, first: unknown, second: unknown) => {
  if (first === second) return;
  throw new NetworkSettingsError(
    `${where} is configured with ${what} ${String(first)} and with ${String(second)}; it must be the same`,
  );
};
