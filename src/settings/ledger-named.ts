import { type Config, ConfigError } from "./config.ts";

/**
 * Holds the settings of a process that reads the ledger, or serves what was read of it, to naming that
 * ledger as soon as they name what is to be found on it: then the demo is not wanted.
 *
 * @param packagesAlone the packages may stand alone: they say what is served of a database
 * @throws ConfigError
 */
export const checkLedgerNamed = (
  config: Pick<Config, "ledgerSourceNamed" | "packages" | "firstCheckpoint">,
  { packagesAlone = false }: { readonly packagesAlone?: boolean } = {},
): void => {
  if (config.ledgerSourceNamed) return;
  const alone = [
    ...(config.packages === undefined || packagesAlone ? [] : ["SECURITY_TOKEN_PACKAGES"]),
    ...(config.firstCheckpoint === undefined ? [] : ["FIRST_CHECKPOINT"]),
  ];
  if (alone.length === 0) return;
  throw new ConfigError(
    `LEDGER_SOURCE: is not set, while ${alone.join(" and ")} ${alone.length > 1 ? "are" : "is"}: this would be the demo ledger. Name the ledger, such as grpc+https://fullnode.mainnet.sui.io:443, or demo: when that is meant`,
  );
};
