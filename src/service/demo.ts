import type { Config } from "../settings/config.ts";

/** Whether the settings name the demo ledger. */
export const isDemoLedger = ({ ledgerSource }: Pick<Config, "ledgerSource">): boolean =>
  ledgerSource.startsWith("demo:");

/** Whether there are only the demo's own assets, so that no data here is real. */
export const isAllDemo = (config: Pick<Config, "ledgerSource" | "assetsFile">): boolean =>
  isDemoLedger(config) && config.assetsFile === undefined;

/** The demo ledger that the settings name. Its code is loaded here, and not for any other ledger. */
export const loadDemo = async ({ dataDir, demo }: Pick<Config, "dataDir" | "demo">) => {
  const { demoLedger } = await import("../../demo/demo.ts");
  return demoLedger({ dataDir, ...demo });
};

/** The demo ledger once it is open. */
export type OpenDemo = Awaited<ReturnType<Awaited<ReturnType<typeof loadDemo>>["open"]>>;
