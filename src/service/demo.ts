import type { Config } from "../settings/config.ts";

/** Whether the settings name the demo ledger. */
export const isDemoLedger = ({ ledgerSource }: Pick<Config, "ledgerSource">): boolean =>
  ledgerSource.startsWith("demo:");

/** The demo ledger that the settings name. Its code is loaded here, and not for any other ledger. */
export const loadDemo = async ({ dataDir, demo }: Pick<Config, "dataDir" | "demo">) => {
  const { demoLedger } = await import("../../demo/demo.ts");
  return demoLedger({ dataDir, ...demo });
};

/** The demo ledger once it is open. */
export type OpenDemo = Awaited<ReturnType<Awaited<ReturnType<typeof loadDemo>>["open"]>>;
