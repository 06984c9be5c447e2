/**
 * Checks the settings and the files that they name before anything is contacted or made: first
 * thing in `start`, `index` and `serve`, and part of `doctor`.
 */
import type { Config } from "../settings/config.ts";
import { checkLedgerNamed } from "../settings/read-config.ts";
import { remedyOf } from "../waiting/remedy.ts";
import { isDemoLedger, loadDemo } from "./demo.ts";

export type Service = "start" | "index" | "serve";

/** Rejects with the fault, naming its setting or file. */
type SettingsCheck = (config: Config) => Promise<unknown>;

/** Each process's checks, in order. */
export const settingsChecks = (service: Service): readonly SettingsCheck[] =>
  service === "serve" ? [named({ packagesAlone: true }), ...OF_ALL] : [...OF_READERS, ...OF_ALL];

/** @throws ConfigError, or another error with remedy `stop`: the first fault */
export const checkSettings = async (config: Config, service: Service): Promise<void> => {
  for (const check of settingsChecks(service)) await check(config);
};

const named =
  (allowed?: Parameters<typeof checkLedgerNamed>[1]): SettingsCheck =>
  async (config) =>
    checkLedgerNamed(config, allowed);

// Load only the code that the settings need.

const OF_READERS: readonly SettingsCheck[] = [
  named(),
  async (config) => {
    if (isDemoLedger(config)) return;
    const { createLogger } = await import("../logging/logger.ts");
    const { findLedger } = await import("./ledger-source.ts");
    const found = await findLedger(config, createLogger({ level: "silent", remedyOf }));
    await (await found.open()).source.close();
  },
  async (config) => {
    const { level, committeeFile } = config.verify;
    if (level !== "signatures" || committeeFile === undefined) return;
    const { verificationOf } = await import("./ledger-source.ts");
    await verificationOf(config).trust?.();
  },
  async (config) => {
    const { suiKey, evmKey, signerUrl, node } = config.ta;
    if ([suiKey, evmKey, signerUrl, node].every((given) => given === undefined)) return;
    const { evmSignerOf, nodeAddressOf, suiSignerOf } = await import("./ta-signers.ts");
    await suiSignerOf(config);
    await evmSignerOf(config);
    if (!isDemoLedger(config)) nodeAddressOf(config);
  },
];

const OF_ALL: readonly SettingsCheck[] = [
  async (config) => {
    if (config.assetsFile === undefined) return;
    await (await import("./checked-assets.ts")).checkedAssets(config);
  },
  async (config) => isDemoLedger(config) && (await loadDemo(config)).isThere(),
  async (config) => {
    if (config.callbacks.masterKey === undefined) return;
    await (await import("./configured-keys.ts")).configuredMasterKey(config);
  },
  async ({ ta: { piiKeys }, dataDir }) => {
    if (piiKeys === undefined) return;
    const { readPiiKeys } = await import("../ta/pii/pii-keys.ts");
    await readPiiKeys({ configured: piiKeys, file: dataDir });
  },
];
