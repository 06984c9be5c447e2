import type { Patience } from "../ledger/reading/patient-source.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { ledgerSourcesOf, splitSources } from "../settings/ledger-sources.ts";

/** The source given with `--source`, or the configured one. */
export const openNamedSource = async (
  config: Config,
  setting: string | undefined,
  logger: Logger,
) => {
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  if (setting === undefined) return openLedgerSource(config, logger);
  // A configured source's key must not go to another one.
  const known = config.ledgerSources.find((source) => source.setting === setting);
  const ledgerSources = known ? [known] : ledgerSourcesOf(splitSources(setting), []);
  const [{ setting: ledgerSource } = { setting }] = ledgerSources;
  const named = { ledgerSource, ledgerSources, ledgerSourceNamed: true };
  return openLedgerSource({ ...config, ...named }, logger);
};

/** Retries of a command's source, with a log line for each failure. */
export const patience = (forMs: number, logger: Logger): Patience => ({
  forMs,
  onTrouble: (err, pauseMs) => logger.warn({ err }, `asking the source again in ${pauseMs} ms`),
});
