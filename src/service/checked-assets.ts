/** The assets file with every check that a start makes of it, and those of the transfer agent. */
import { networksOf } from "../evm/contract/network.ts";
import type { Assets } from "../settings/assets.ts";
import { AssetsFileError } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { transferScopes } from "../transfers/scopes.ts";
import { assetsOf } from "./assets.ts";

/**
 * Reads and checks `ASSETS_FILE`, or another file in its place.
 * @throws AssetsFileError, NetworkSettingsError, TransferEventIdError (stop)
 */
export const checkedAssets = async (
  config: Pick<Config, "assetsFile" | "callbacks">,
  file: string | undefined = config.assetsFile,
): Promise<Assets> => {
  if (file === undefined) {
    throw new AssetsFileError("ASSETS_FILE: is not set, so there is no file to read again");
  }
  const assets = await assetsOf(config, file);
  taAssets(assets);
  networksOf(assets.projects.flatMap(({ tokens }) => tokens.filter((t) => t.ledger === "evm")));
  transferScopes(assets);
  return assets;
};
