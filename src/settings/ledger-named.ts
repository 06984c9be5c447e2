import { type Config, ConfigError } from "./config.ts";

/**
 * Requires LEDGER_SOURCE as soon as a setting names packages or a first checkpoint: these belong to
 * another ledger than the demo. For processes that read the ledger, or serve what was read of it.
 *
 * @param packagesAlone allows packages without LEDGER_SOURCE: they say what is served of a database
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
