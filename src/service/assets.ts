/** The projects of this deployment: those of the assets file, or the demo ledger's own. */
import { type Assets, readAssets } from "../assets.ts";
import type { Config } from "../config.ts";

/**
 * Reads the assets file. Without one there are no projects, but on the demo ledger a project `demo`
 * for people to try: it has no EVM tokens.
 * @throws AssetsFileError (stop)
 */
export const configuredAssets = async (
  config: Pick<Config, "assetsFile" | "ledgerSource">,
): Promise<Assets> => {
  if (config.assetsFile !== undefined) return readAssets(config.assetsFile);
  if (!config.ledgerSource.startsWith("demo:")) return { projects: [] };
  return { projects: [{ name: "demo", tokens: [] }] };
};
