import { configuredAssets } from "../service/assets.ts";
import type { Config } from "../settings/config.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { UsageError } from "./usage.ts";

/** Only an asset that is served has keys and requests. @throws UsageError naming those there are */
export const checkAsset = async (config: Config, asset: string): Promise<void> => {
  const known = [...taAssets(await configuredAssets(config)).keys()];
  if (known.includes(asset)) return;
  throw new UsageError(`no asset ${asset}; those with "ta" are: ${known.join(", ") || "none"}`);
};
