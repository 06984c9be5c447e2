/**
 * All that the settings and the files they name can be wrong in, before anything is contacted or made: `start`, `index`
 * and `serve` check it first, and `doctor` tells it.
 */
import { networksOf } from "../evm/contract/network.ts";
import { createLogger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { checkLedgerNamed } from "../settings/ledger-named.ts";
import { readPiiKeys } from "../ta/pii/pii-keys.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { remedyOf } from "../waiting/remedy.ts";
import { assetsOf } from "./assets.ts";
import { callbackMasterKey } from "./callback-master-key.ts";
import { isDemoLedger, loadDemo } from "./demo.ts";
import { findLedger } from "./ledger-source.ts";
import { evmSignerOf, nodeAddressOf, suiSignerOf } from "./ta-signers.ts";
import { verificationOf } from "./verification.ts";

/** A process of the service. */
export type Service = "start" | "index" | "serve";

/** Rejects with what is wrong, named by its setting or file. */
export type SettingsCheck = (config: Config) => Promise<unknown>;

/** What each process checks, in this order. */
export const settingsChecks = (service: Service): readonly SettingsCheck[] =>
  service === "serve" ? [named({ packagesAlone: true }), ...OF_ALL] : [...OF_READERS, ...OF_ALL];

/** @throws ConfigError, or another error whose remedy is `stop`: the first thing that is wrong */
export const checkSettings = async (config: Config, service: Service): Promise<void> => {
  for (const check of settingsChecks(service)) await check(config);
};

const named =
  (allowed: Parameters<typeof checkLedgerNamed>[1]): SettingsCheck =>
  async (config) =>
    checkLedgerNamed(config, allowed);

const OF_READERS: readonly SettingsCheck[] = [
  // The ledger, its packages, and the demo's data.
  async (config) => {
    const silent = createLogger({ level: "silent", remedyOf });
    const found = await findLedger(config, silent);
    if (!isDemoLedger(config)) await (await found.open()).source.close();
  },
  async (config) =>
    config.verify.level === "signatures" ? verificationOf(config).trust?.() : null,
  (config) => suiSignerOf(config),
  (config) => evmSignerOf(config),
  async (config) => (isDemoLedger(config) ? undefined : nodeAddressOf(config)),
];

const OF_ALL: readonly SettingsCheck[] = [
  async (config) => {
    if (config.assetsFile === undefined) return;
    const assets = await assetsOf(config, config.assetsFile);
    taAssets(assets);
    const tokens = assets.projects.flatMap((project) => project.tokens);
    networksOf(tokens.filter((token) => token.ledger === "evm"));
  },
  async (config) => isDemoLedger(config) && (await loadDemo(config)).check(),
  async (config) => config.callbacks.masterKey !== undefined && callbackMasterKey(config),
  async ({ ta: { piiKeys }, dataDir }) =>
    piiKeys !== undefined && readPiiKeys({ configured: piiKeys, file: dataDir }),
];
