import { join } from "node:path";
import { readMasterKey } from "../sealing/master-key.ts";
import type { Config } from "../settings/config.ts";

/**
 * The key that seals the signing keys, as configured.
 * @param existing never make one, see `readMasterKey`
 * @throws MasterKeyError (stop)
 */
export const callbackMasterKey = (
  { callbacks: { masterKey }, dataDir }: Pick<Config, "callbacks" | "dataDir">,
  { existing }: { readonly existing?: boolean | undefined } = {},
): Promise<Uint8Array> =>
  readMasterKey({
    configured: masterKey,
    setting: "CALLBACK_MASTER_KEY",
    file: join(dataDir, "callback-master-key"),
    existing,
  });
