/** What the demo ledger gives to whoever sits at the machine it runs on. */
import type { Reads } from "../database/readers.ts";
import { verifyKey } from "../http/keys.ts";
import type { DemoAccess } from "../operator/page-settings.ts";
import type { Config } from "../settings/config.ts";
import { isAllDemo } from "./demo.ts";
import { keptStartKey } from "./kept-keys.ts";

/**
 * The key that `start` made, while it opens. Undefined where data may be real, and behind a proxy: there all
 * callers come from this machine.
 * @param keys for keys, which are remembered
 */
export const demoAccess = (config: Config, keys: Reads): DemoAccess | undefined => {
  if (!isAllDemo(config) || config.trustProxy) return undefined;
  return {
    key: async () => {
      const kept = await keptStartKey(config);
      if (kept === undefined) return null;
      return (await verifyKey(keys, "graphql", kept)) === null ? null : kept;
    },
    hasTour: async () => false,
  };
};
