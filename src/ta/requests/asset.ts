import { keccak_256 } from "@noble/hashes/sha3.js";
import {
  type Assets,
  AssetsFileError,
  type EvmToken,
  type SuiToken,
} from "../../settings/assets.ts";
import { canonicalAddress, canonicalType, MoveTypeError } from "../../values/move-type.ts";
import { AGENT_TOKEN_TYPES, type AgentTokenType } from "../ledgers/agent-token-types.ts";

/** A token with a transfer agent; on Sui a coin type identifies the token. */
export type TaAsset = {
  /** As in the assets file and in `keys create --asset`. */
  readonly name: string;
  readonly project: string;
  readonly callbackUrl: string;
  readonly whitelistGroupId: number;
} & (
  | { readonly ledger: "sui"; readonly coinType: string }
  | { readonly ledger: "evm"; readonly token: AgentToken }
);

export type AgentToken = EvmToken & { readonly type: AgentTokenType };

export const taEndpoint = (asset: string): string => `ta:${asset}`;

/**
 * @throws AssetsFileError (stop) for a `ta` member without `whitelistGroupId`, or of a token without
 *   transfer groups
 */
export const taAssets = (assets: Assets): ReadonlyMap<string, TaAsset> => {
  const found = assets.projects.flatMap(({ name: project, tokens }) =>
    tokens.flatMap((token): TaAsset[] => {
      if (token.ta === undefined) return [];
      const { name, whitelistGroupId } = token;
      if (whitelistGroupId === undefined) {
        throw new AssetsFileError(
          `token ${name}: "ta" needs "whitelistGroupId", the group of a whitelisted wallet`,
        );
      }
      const shared = { name, project, whitelistGroupId, callbackUrl: token.ta.callbackUrl };
      return [{ ...shared, ...ledgerOf(token) }];
    }),
  );
  return new Map(found.map((asset) => [asset.name, asset]));
};

const ledgerOf = (token: SuiToken | EvmToken) => {
  if (token.ledger === "sui") {
    return { ledger: "sui" as const, coinType: canonicalType(token.coinType) };
  }
  const type = AGENT_TOKEN_TYPES.find((one) => one === token.type);
  if (type === undefined) {
    throw new AssetsFileError(
      `token ${token.name}: tokens of type ${token.type} have no transfer groups, so no wallet can be whitelisted there: remove "ta"`,
    );
  }
  return { ledger: "evm" as const, token: { ...token, type } };
};

export const WALLET_FORM = {
  sui: "must be a Sui address: 0x and 1 to 64 hex digits",
  evm: "must be an EVM address: 0x and 40 hex digits, in mixed case only with a right checksum",
} as const;

/** A wallet in canonical form (lower case, padded on Sui); undefined when invalid. */
export const canonicalWallet = (ledger: TaAsset["ledger"], text: string): string | undefined => {
  if (ledger === "evm") return evmWallet(text);
  if (!text.startsWith("0x")) return undefined;
  try {
    return canonicalAddress(text);
  } catch (error) {
    if (error instanceof MoveTypeError) return undefined;
    throw error;
  }
};

const evmWallet = (text: string): string | undefined => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  const mixed = digits !== lower && digits !== digits.toUpperCase();
  if (mixed && checksumOf(lower) !== digits) return undefined;
  return `0x${lower}`;
};

/** Digits in checksum case (EIP-55). Without viem, which takes a third of a second to load. */
const checksumOf = (lower: string): string => {
  const hash = Buffer.from(keccak_256(Buffer.from(lower))).toString("hex");
  return lower.replace(/[a-f]/g, (digit, at: number) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  );
};
