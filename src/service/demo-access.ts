/** What the demo ledger gives to whoever sits at the machine it runs on. */
import type { Reads } from "../database/readers.ts";
import { findKey, verifyKey } from "../http/keys.ts";
import type { DemoAccess } from "../operator/page-settings.ts";
import type { TourSettings } from "../operator/tour.ts";
import { type Assets, suiTokens } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { DEMO_ASSETS } from "./assets.ts";
import { isAllDemo } from "./demo.ts";
import { keptDemoTaKey, keptStartKey } from "./kept-keys.ts";

/**
 * The key that `start` made, while it opens. Undefined where data may be real, and behind a proxy: there all
 * callers come from this machine.
 * @param keys for keys, which are remembered
 * @param tour where its requests are served
 */
export const demoAccess = (
  config: Config,
  keys: Reads,
  tour: DemoTour | undefined,
): DemoAccess | undefined => {
  if (!isAllDemo(config) || config.trustProxy) return undefined;
  return {
    key: async () => {
      const kept = await keptStartKey(config);
      if (kept === undefined) return null;
      return (await verifyKey(keys, "graphql", kept)) === null ? null : kept;
    },
    hasTour: async () => (await tour?.secretKey()) !== undefined,
  };
};

/** What a tour needs. */
export type DemoTour = Omit<TourSettings, "db">;

/** The tour of the demo's first asset, signed with the pair that `start` made, while that is registered. */
export const demoTour = (config: Config, assets: Assets, keys: Reads): DemoTour | undefined => {
  if (!isAllDemo(config) || config.trustProxy) return undefined;
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
