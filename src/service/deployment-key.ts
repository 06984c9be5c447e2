/**
 * The deployment's key as configured: sealed under the master key, or held by an outside signer.
 */
import { type DeploymentKey, openDeploymentKey } from "../audit/sequence/deployment-key.ts";
import { type OutsideSigner, outsideSigner } from "../audit/sequence/outside-signer.ts";
import type { Config } from "../settings/config.ts";
import { configuredMasterKey } from "./master-key.ts";
import type { Storage } from "./storage.ts";

type Settings = Pick<Config, "callbacks" | "dataDir" | "deploymentSigner">;

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

/** One per process. @param existing never make a master key, see `readMasterKey` */
export const configuredKey = (
  config: Settings,
  { existing }: { readonly existing?: boolean } = {},
): ConfiguredKey => {
  const masterKey = () => configuredMasterKey(config, { existing });
  const signer = config.deploymentSigner && outsideSigner(config.deploymentSigner);
  return { masterKey, signer, open: ({ write }) => openDeploymentKey(write, masterKey, signer) };
};
