/** The configured full nodes beside the source: whose lists guide reading, and a witness. */
import type { LedgerIndex } from "../ledger/history/ledger-index.ts";
import type { OnSetback, RetryPolicy } from "../ledger/sources/fetch-attempts.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import type { LedgerSource } from "../settings/ledger-sources.ts";
import { shownUrl } from "../settings/shown-url.ts";

type Nodes = Pick<Config, "indexSource" | "witnessSource" | "ledgerSources">;

type Opening = { readonly retry?: RetryPolicy };

/**
 * Opens the lists of INDEX_SOURCE, or of the full node in LEDGER_SOURCE; contacts nothing yet.
 * @throws ConfigError when no full node is named
 */
export const openLedgerIndex = async (
  { indexSource, ledgerSources }: Nodes,
  logger: Logger,
  opening: Opening = {},
): Promise<LedgerIndex> => {
  if (indexSource !== undefined) return await openNode(indexSource, logger, opening);
  const sources = ledgerSources.map(({ setting }) => shownUrl(setting)).join(" ");
  throw new ConfigError(
    `INDEX_SOURCE: is not set, and LEDGER_SOURCE (${sources}) names no full node: guided reading asks a full node's lists which checkpoints to read. Name one, such as grpc+https://archive.mainnet.sui.io:443, or use READING=full`,
  );
};

/** Opens WITNESS_SOURCE; undefined: none is named. */
export const openWitness = async (
  { witnessSource }: Nodes,
  logger: Logger,
  opening: Opening = {},
): Promise<LedgerIndex | undefined> =>
  witnessSource && (await openNode(witnessSource, logger, opening));

const openNode = async (
  { setting, headers }: LedgerSource,
  logger: Logger,
  { retry }: Opening,
): Promise<LedgerIndex> => {
  const { openIndex } = await import("../ledger/history/open-index.ts");
  const onSetback: OnSetback = (setback) =>
    setback.failures < 3
      ? logger.debug(setback, "asking again")
      : logger.warn(setback, "the node keeps failing; asking again");
  return openIndex(setting, { headers, onSetback, ...(retry && { retry }) });
};
