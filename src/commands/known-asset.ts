import type { NewAct } from "../audit/sequence/acts.ts";
import { configuredAssets } from "../service/assets.ts";
import type { Config } from "../settings/config.ts";
import { type TaAsset, taAssets } from "../ta/requests/asset.ts";
import { UsageError } from "./usage.ts";

/** Only an asset that is served has keys and requests. @throws UsageError naming those there are */
export const checkAsset = async (config: Config, name: string): Promise<TaAsset> => {
  const known = taAssets(await configuredAssets(config));
  const asset = known.get(name);
  if (asset !== undefined) return asset;
  const names = [...known.keys()].join(", ") || "none";
  throw new UsageError(`no asset ${name}; those with "ta" are: ${names}`);
};

/** Who sees acts on an asset: the auditors of its coin; none where it has no coin on Sui. */
export const scopeOf = (asset: TaAsset | undefined): NewAct["on"] =>
  asset?.ledger === "sui" ? { coinType: asset.coinType } : "project";

/** The same by the asset's name, whether or not it is served any more. */
export const scopeOfAsset = async (config: Config, name: string): Promise<NewAct["on"]> =>
  scopeOf(taAssets(await configuredAssets(config)).get(name));
