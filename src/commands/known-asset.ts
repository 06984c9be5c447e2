import type { NewAct } from "../audit/sequence/acts.ts";
import { configuredAssets } from "../service/assets.ts";
import type { Config } from "../settings/config.ts";
import { type TaAsset, taAssets } from "../ta/requests/asset.ts";
import { UsageError } from "./usage.ts";

/** @throws UsageError listing the served assets */
export const checkAsset = async (config: Config, name: string): Promise<TaAsset> => {
  const known = taAssets(await configuredAssets(config));
  const asset = known.get(name);
  if (asset !== undefined) return asset;
  const names = [...known.keys()].join(", ") || "none";
  throw new UsageError(`no asset ${name}; those with "ta" are: ${names}`);
};

/** Who sees acts on an asset: auditors of its coin on Sui; no auditor elsewhere. */
export const scopeOf = (asset: TaAsset | undefined): NewAct["on"] =>
  asset?.ledger === "sui" ? { coinType: asset.coinType } : "project";

/** By name, for assets served or not. */
export const scopeOfAsset = async (config: Config, name: string): Promise<NewAct["on"]> =>
  scopeOf(taAssets(await configuredAssets(config)).get(name));
