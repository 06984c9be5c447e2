import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";

/** The source that a command was given with `--source`, or the configured one. */
export const openNamedSource = async (
  config: Config,
  setting: string | undefined,
  logger: Logger,
) => {
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  if (setting === undefined || setting === config.ledgerSource) {
    return openLedgerSource(config, logger);
  }
  // A key for the configured source is not for another one.
  const other = { ledgerSource: setting, ledgerSourceNamed: true, ledgerHeaders: {} };
  return openLedgerSource({ ...config, ...other }, logger);
};
