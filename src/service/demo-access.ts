/**
 * The demo's access for the browser that opens the link printed by `start`, and its guided tour.
 */
import type { Reads } from "../database/readers.ts";
import { findKey, type KeyKind, verifyKey } from "../http/keys.ts";
import type { DemoAccess } from "../page-api/page-settings.ts";
import type { TourSettings } from "../page-api/tour.ts";
import { type Assets, suiTokens } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { DEMO_ASSETS } from "./assets.ts";
import { isAllDemo } from "./demo.ts";
import { keptDemoOperatorKey, keptDemoTaKey, keptStartKey, takeDemoToken } from "./kept-keys.ts";

/**
 * The keys made by `start`, while valid. Undefined where data may be real.
 * @param keys for cached keys
 * @param tour where its requests are served
 */
export const demoAccess = (
  config: Config,
  keys: Reads,
  tour: DemoTour | undefined,
): DemoAccess | undefined => {
  if (!isAllDemo(config)) return undefined;
  const readKey = () => valid(keys, "graphql", keptStartKey(config));
  const operatorKey = () => valid(keys, "operator", keptDemoOperatorKey(config));
  return {
    lend: async (token) => {
      const read = await readKey();
      return read !== null && (await takeDemoToken(config, token)) ? read.secret : null;
    },
    lendOperator: async (caller) => {
      const [read, operator] = await Promise.all([readKey(), operatorKey()]);
      return [read?.id, operator?.id].includes(caller.id) ? (operator?.secret ?? null) : null;
    },
    hasOperator: async () => (await operatorKey()) !== null,
    hasTour: async () => (await tour?.secretKey()) !== undefined,
  };
};

const valid = async (keys: Reads, kind: KeyKind, kept: Promise<string | undefined>) => {
  const secret = await kept;
  const key = secret === undefined ? null : await verifyKey(keys, kind, secret);
  return secret === undefined || key === null ? null : { id: key.id, secret };
};

type DemoTour = Omit<TourSettings, "db" | "reader" | "send">;

/**
 * A tour of the demo's first asset, signed with the pair made by `start` while it is registered.
 */
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
