import { join } from "node:path";
import { readMasterKey } from "../sealing/master-key.ts";
import type { Config } from "../settings/config.ts";

/**
 * The configured master key, which seals the signing keys of callbacks and the deployment's key.
 * @param existing never make one, see `readMasterKey`
 * @throws MasterKeyError (stop)
 */
export const configuredMasterKey = (
  { callbacks: { masterKey }, dataDir }: Pick<Config, "callbacks" | "dataDir">,
  { existing }: { readonly existing?: boolean | undefined } = {},
): Promise<Uint8Array> =>
  readMasterKey({
    configured: masterKey,
    setting: "CALLBACK_MASTER_KEY",
    file: join(dataDir, "callback-master-key"),
    existing,
  });
