/** What the demo ledger lends to the browser that opens the link `start` printed, and its guided tour. */
import type { Reads } from "../database/readers.ts";
import { findKey, verifyKey } from "../http/keys.ts";
import type { DemoAccess } from "../page-api/page-settings.ts";
import type { TourSettings } from "../page-api/tour.ts";
import { type Assets, suiTokens } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { DEMO_ASSETS } from "./assets.ts";
import { isAllDemo } from "./demo.ts";
import { keptDemoTaKey, keptStartKey, takeDemoToken } from "./kept-keys.ts";

/**
 * The key that `start` made, while it opens. Undefined where data may be real.
 * @param keys for keys, which are remembered
 * @param tour where its requests are served
 */
export const demoAccess = (
  config: Config,
  keys: Reads,
  tour: DemoTour | undefined,
): DemoAccess | undefined => {
  if (!isAllDemo(config)) return undefined;
  return {
    lend: async (token) => {
      const kept = await keptStartKey(config);
      if (kept === undefined || (await verifyKey(keys, "graphql", kept)) === null) return null;
      return (await takeDemoToken(config, token)) ? kept : null;
    },
    hasTour: async () => (await tour?.secretKey()) !== undefined,
  };
};

/** What a tour needs. */
type DemoTour = Omit<TourSettings, "db" | "reader" | "send">;

/** The tour of the demo's first asset, signed with the pair that `start` made, while that is registered. */
export const demoTour = (config: Config, assets: Assets, keys: Reads): DemoTour | undefined => {
  if (!isAllDemo(config)) return undefined;
  const [asset] = DEMO_ASSETS;
  const token = suiTokens(assets).find(({ name }) => name === asset);
  if (token === undefined) return undefined;
  return {
    tourAsset: { asset, coinType: token.coinType },
    secretKey: async () => {
      const kept = await keptDemoTaKey(config);
      const known = kept && (await findKey(keys, kept.publicKey));
      return known?.kind === "ta" && known.subject === asset ? kept?.secretKey : undefined;
    },
  };
};
