/** What it takes to process the configured assets: a register and a relay for each. */
import type { Sql } from "../../database/connect.ts";
import type { MaybePromise } from "../../database/remembered.ts";
import { treasuryOf } from "../../log/coins.ts";
import type { EvmSigner, SuiSigner } from "../ledgers/signer.ts";
import { type SuiNode, suiRelay } from "../ledgers/sui-relay.ts";
import type { TaAsset } from "../requests/asset.ts";
import { evmRegister } from "./evm-register.ts";
import { lowestNonce, signedBefore } from "./nonces.ts";
import { suiRegister } from "./register.ts";
import type { ProcessedAsset } from "./request-work.ts";

/** Where transactions go, and who signs them. */
export type LedgerAccess = {
  readonly sui?: {
    readonly node: SuiNode;
    /** By the asset's name. */
    readonly signerOf: (asset: string) => SuiSigner | undefined;
    /** Addresses of the security-token package as the log knows them, the newest one last. */
    readonly packages: () => MaybePromise<readonly string[]>;
    /** The most one transaction may cost, MIST. */
    readonly gasBudget: bigint;
  };
  readonly evm?: { readonly signer: EvmSigner };
};

/**
 * The assets that this process can process; `onMissing` hears of those it lacks a signer or a node
 * for: their requests wait.
 * @throws NoTransferGroupsError (stop) for an EVM token without transfer groups
 */
export const processedAssets = async (
  assets: Iterable<TaAsset>,
  access: LedgerAccess,
  sql: Sql,
  onMissing: (asset: string, what: string) => void,
): Promise<readonly ProcessedAsset[]> => {
  const processed: ProcessedAsset[] = [];
  for (const asset of assets) {
    const { name, whitelistGroupId } = asset;
    const sides =
      asset.ledger === "sui" ? suiSides(asset, access, sql) : await evmSides(asset, access, sql);
    if (typeof sides === "string") onMissing(name, sides);
    else processed.push({ name, whitelistGroupId, ...sides });
  }
  return processed;
};

type Sides = Pick<ProcessedAsset, "register" | "relay">;

const suiSides = (
  { name, coinType }: Extract<TaAsset, { ledger: "sui" }>,
  { sui }: LedgerAccess,
  sql: Sql,
): Sides | string => {
  const signer = sui?.signerOf(name);
  if (sui === undefined) return "a full node to send to";
  if (signer === undefined) return "a key to sign with";
  const { node, packages, gasBudget } = sui;
  return {
    register: suiRegister(sql, coinType),
    relay: suiRelay({
      node,
      signer,
      coinType,
      packageId: async () => newestOf(await packages()),
      treasuryId: () => treasuryOf({ sql }, coinType),
      gasBudget,
    }),
  };
};

const newestOf = (packages: readonly string[]): string => {
  const newest = packages.at(-1);
  if (newest === undefined) throw new Error("a log is begun with one package at least");
  return newest;
};

const evmSides = async (
  { token, project }: Extract<TaAsset, { ledger: "evm" }>,
  { evm }: LedgerAccess,
  sql: Sql,
): Promise<Sides | string> => {
  if (evm === undefined) return "a key to sign with";
  // What speaks to chains is large: loaded where there is one to send to.
  const { evmRelay } = await import("../ledgers/evm-relay.ts");
  const { chainId, rpc, type, address } = token;
  const { signer } = evm;
  return {
    register: evmRegister(sql, { project, chainId, token: address }),
    relay: evmRelay({
      chainId,
      rpc,
      token: address,
      type,
      signer,
      lowestNonce: (resource) => lowestNonce(sql, resource),
      signedBefore: (resource, nonces) => signedBefore(sql, resource, nonces),
    }),
  };
};
