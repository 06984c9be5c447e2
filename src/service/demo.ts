import type { Config } from "../settings/config.ts";

export const isDemoLedger = ({ ledgerSource }: Pick<Config, "ledgerSource">): boolean =>
  ledgerSource.startsWith("demo:");

/** Only the demo's own assets: no data is real. */
export const isAllDemo = (config: Pick<Config, "ledgerSource" | "assetsFile">): boolean =>
  isDemoLedger(config) && config.assetsFile === undefined;

/** Loads the demo's code, which other ledgers do not need. */
export const loadDemo = async ({ dataDir, demo }: Pick<Config, "dataDir" | "demo">) => {
  const { demoLedger } = await import("../../demo/demo.ts");
  return demoLedger({ dataDir, ...demo });
};

export type OpenDemo = Awaited<ReturnType<Awaited<ReturnType<typeof loadDemo>>["open"]>>;
