/** Keys as the settings name them: the master key, the deployment's, and those of investors' data. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type DeploymentKey, openDeploymentKey } from "../audit/sequence/deployment-key.ts";
import { type OutsideSigner, outsideSigner } from "../audit/sequence/outside-signer.ts";
import type { LabelKeys } from "../labels/read.ts";
import type { KeyRing } from "../sealing/key-ring.ts";
import { readMasterKey } from "../sealing/master-key.ts";
import type { Config } from "../settings/config.ts";
import { type PiiKeys, readPiiKeys } from "../ta/pii/pii-keys.ts";
import { openVault, type PiiVault } from "../ta/pii/vault.ts";
import type { Storage } from "./storage.ts";

/** With `existing` no key is ever made; see `readMasterKey`. */
type Making = { readonly existing?: boolean | undefined };

/** Seals the signing keys of callbacks and the deployment's key. @throws MasterKeyError (stop) */
export const configuredMasterKey = (
  { callbacks: { masterKey }, dataDir }: Pick<Config, "callbacks" | "dataDir">,
  { existing }: Making = {},
): Promise<Uint8Array> =>
  readMasterKey({
    configured: masterKey,
    setting: "CALLBACK_MASTER_KEY",
    file: join(dataDir, "callback-master-key"),
    existing,
  });

/** @throws PiiKeysError | MasterKeyError (stop) */
export const configuredPiiKeys = (
  { ta: { piiKeys: configured }, dataDir }: Pick<Config, "dataDir" | "ta">,
  { existing }: Making = {},
): Promise<PiiKeys> => readPiiKeys({ configured, file: join(dataDir, "pii-key"), existing });

/** @throws PiiKeysError | MasterKeyError (stop) */
export const configuredVault = async (
  config: Pick<Config, "dataDir" | "ta">,
  { write }: { readonly write: Parameters<typeof openVault>[0] },
  making: Making = {},
): Promise<PiiVault> => openVault(write, await configuredPiiKeys(config, making));

/**
 * Keys of sealed labels, those of investors' data; undefined while there are none here, as where the transfer agent
 * is served elsewhere and `PII_KEYS` is not set.
 */
export const configuredLabelKeys = (config: Pick<Config, "dataDir" | "ta">): LabelKeys => {
  let found: KeyRing | undefined;
  return async () => {
    // The transfer agent's first process makes the file.
    const isThere = config.ta.piiKeys !== undefined || existsSync(join(config.dataDir, "pii-key"));
    if (found === undefined && isThere) found = await configuredPiiKeys(config, { existing: true });
    return found;
  };
};

/** The deployment's key: sealed under the master key, or held by an outside signer. */
export type ConfiguredKey = {
  readonly masterKey: () => Promise<Uint8Array>;
  /** Undefined: the key is sealed in the database. */
  readonly signer: OutsideSigner | undefined;
  /**
   * Opens the newest key, see `openDeploymentKey`.
   * @throws ConfigError (stop) when this process cannot sign with it
   */
  open(storage: Pick<Storage, "write">): Promise<DeploymentKey>;
};

/** One per process. */
export const configuredKey = (
  config: Pick<Config, "callbacks" | "dataDir" | "deploymentSigner">,
  making: Making = {},
): ConfiguredKey => {
  const masterKey = () => configuredMasterKey(config, making);
  const signer = config.deploymentSigner && outsideSigner(config.deploymentSigner);
  return { masterKey, signer, open: ({ write }) => openDeploymentKey(write, masterKey, signer) };
};
