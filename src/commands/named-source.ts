import type { Patience } from "../ledger/reading/patient-source.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { ledgerSourcesOf, splitSources } from "../settings/ledger-sources.ts";

/** The source that a command was given with `--source`, or the configured one. */
export const openNamedSource = async (
  config: Config,
  setting: string | undefined,
  logger: Logger,
) => {
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  if (setting === undefined) return openLedgerSource(config, logger);
  // A key for a configured source is not for another one.
  const known = config.ledgerSources.find((source) => source.setting === setting);
  const ledgerSources = known ? [known] : ledgerSourcesOf(splitSources(setting), []);
  const [{ setting: ledgerSource } = { setting }] = ledgerSources;
  const named = { ledgerSource, ledgerSources, ledgerSourceNamed: true };
  return openLedgerSource({ ...config, ...named }, logger);
};

/** How a command waits for its source, with a line in the log for each failure. */
export const patience = (forMs: number, logger: Logger): Patience => ({
  forMs,
  onTrouble: (err, pauseMs) => logger.warn({ err }, `asking the source again in ${pauseMs} ms`),
});
