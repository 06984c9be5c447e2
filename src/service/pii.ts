/** The configured keys and vault of investors' data. */
import { join } from "node:path";
import type { Config } from "../settings/config.ts";
import { readPiiKeys } from "../ta/pii/pii-keys.ts";
import { openVault, type PiiVault } from "../ta/pii/vault.ts";

/**
 * @param existing never make a key, see `readPiiKeys` @throws PiiKeysError | MasterKeyError (stop)
 */
export const configuredVault = async (
  config: Pick<Config, "dataDir" | "ta">,
  { write }: { readonly write: Parameters<typeof openVault>[0] },
  { existing }: { readonly existing?: boolean } = {},
): Promise<PiiVault> => {
  const keys = await readPiiKeys({
    configured: config.ta.piiKeys,
    file: join(config.dataDir, "pii-key"),
    existing,
  });
  return openVault(write, keys);
};
