/** Services of the transfer agent API in this process. */

import { openSigningKeys } from "../callbacks/signing-keys.ts";
import type { Part } from "../http/part.ts";
import type { Assets } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { type TaPartSettings, taPart } from "../ta/api/part.ts";
import { createAcceptance } from "../ta/requests/accept.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { fingerprints } from "../ta/requests/fingerprint.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { VERSION } from "../telemetry/version.ts";
import { derived } from "../values/derived.ts";
import { configuredMasterKey, configuredVault } from "./configured-keys.ts";
import type { Storage } from "./storage.ts";

/** Concurrent large bodies, in units of the largest. */
const LARGE_BODIES = 8;

/** @throws AssetsFileError | MasterKeyError | PiiKeysError | PiiKeyLostError (stop) */
export const taRequests = async (settings: {
  readonly config: Config;
  readonly storage: Storage;
  readonly tracing: Tracing;
  readonly assets: () => Assets;
  readonly keys: TaPartSettings["keys"];
  readonly limits: TaPartSettings["limits"];
}): Promise<Part> => {
  const { config, storage, tracing, assets, keys, limits } = settings;
  const { write: database, read } = storage;
  const { bodyBytes, fileBytes, platformName } = config.ta;
  const masterKey = await configuredMasterKey(config);
  const vault = await configuredVault(config, storage);
  await vault.checkKeys();
  const bounds = { bodyBytes, fileBytes, allBodiesBytes: LARGE_BODIES * bodyBytes };
  return taPart({
    database,
    read,
    catchUp: storage.replicas?.catchUp,
    keys,
    assets: derived(assets, taAssets),
    accept: createAcceptance({ database, vault, tracing }),
    fingerprints: fingerprints(masterKey),
    signingKeys: await openSigningKeys(database, masterKey),
    limits,
    bounds,
    platformName,
    version: VERSION,
    isTraced: tracing.isOn,
  });
};
