/** The chains to read and the tokens on each, from the tokens that configuration lists. */
import type { Remedy } from "../../waiting/remedy.ts";
import type { Address } from "./fact.ts";
import { generations, type TokenType, tokenTypes } from "./generations.ts";
import type { EvmToken } from "./token.ts";

/** When a block counts as final: a tag of the chain, or that many blocks below the head. */
export type Finality = "latest" | "safe" | "finalized" | number;

/** A token as configuration lists it (`EvmToken` of `settings/assets.ts` fits). Addresses in any case. */
export type TokenSettings = {
  readonly network: string;
  readonly chainId: number;
  readonly rpc: readonly string[];
  readonly address: string;
  readonly type: string;
  readonly fromBlock: number;
  readonly finality: Finality;
  readonly lockup: string | null;
  /** Identity registry of a version 5 token, for regions. */
  readonly identityRegistry?: string | null | undefined;
};

/** A chain to read, with all its tokens. */
export type EvmNetwork = {
  readonly name: string;
  readonly chainId: number;
  /** Tried in order. */
  readonly rpc: readonly string[];
  readonly finality: Finality;
  readonly tokens: readonly EvmToken[];
};

/** Tokens of one chain are configured in ways that exclude each other: correct the file. */
export class NetworkSettingsError extends Error {
  override readonly name = "NetworkSettingsError";
  readonly remedy: Remedy = "stop";
}

/**
 * Groups tokens into one network per chain id, each token once, with the RPC URLs of all of them.
 * @throws NetworkSettingsError (stop) when tokens of one chain disagree on its name or finality, when
 *   one address is configured in two ways, when a version 1 token has no lockup, or when another one
 *   than version 5 has an identity registry
 */
export const networksOf = (settings: readonly TokenSettings[]): readonly EvmNetwork[] => {
  const networks = new Map<number, EvmNetwork>();
  for (const { network: name, chainId, rpc, finality, ...rest } of settings) {
    const token = tokenOf(rest);
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

const tokenOf = ({
  address,
  type,
  fromBlock,
  lockup,
  identityRegistry,
}: Pick<
  TokenSettings,
  "address" | "type" | "fromBlock" | "lockup" | "identityRegistry"
>): EvmToken => {
  const known = tokenTypes.find((each) => each === type);
  if (known === undefined) {
    throw new NetworkSettingsError(
      `token ${address}: type "${type}" is not one of ${tokenTypes.join(", ")}`,
    );
  }
  checkLockup(known, address, lockup);
  checkRegistry(known, address, identityRegistry ?? null);
  return {
    address: addressOf(address),
    type: known,
    lockup: lockup === null ? null : addressOf(lockup),
    identityRegistry: identityRegistry ? addressOf(identityRegistry) : null,
    fromBlock: BigInt(fromBlock),
  };
};

const checkLockup = (type: TokenType, address: string, lockup: string | null) => {
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
};

const checkRegistry = (type: TokenType, address: string, registry: string | null) => {
  if (registry === null || generations[type].groups === "regions") return;
  throw new NetworkSettingsError(
    `token ${address}: ${type} has no identity registry, only version 5 has; set "identityRegistry" to null`,
  );
};

const addressOf = (text: string): Address => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new NetworkSettingsError(`"${text}" is not an address: 0x and 40 hex digits`);
  }
  return `0x${text.slice(2).toLowerCase()}`;
};

const agree = (where: string, what: string, first: unknown, second: unknown) => {
  if (first === second) return;
  throw new NetworkSettingsError(
    `${where} is configured with ${what} ${String(first)} and with ${String(second)}; it must be the same`,
  );
};
