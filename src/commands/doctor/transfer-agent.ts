/** Checks whether this process could send the transfer agent's transactions. */
import { isAllDemo, isDemoLedger } from "../../service/demo.ts";
import { evmSignerOf, nodeAddressOf, suiSignerOf } from "../../service/ta-signers.ts";
import type { Assets } from "../../settings/assets.ts";
import type { Config } from "../../settings/config.ts";
import { taAssets } from "../../ta/requests/asset.ts";
import { type Finding, ok, warn } from "./finding.ts";

/** Makes the signers as the indexing process does; signs nothing. @throws ConfigError */
export const checkTransferAgent = async (
  config: Config,
  assets: Assets | undefined,
): Promise<readonly Finding[]> => {
  const signers = { sui: await suiSignerOf(config), evm: await evmSignerOf(config) };
  const isDemo = isDemoLedger(config);
  const node = isDemo || nodeAddressOf(config) !== undefined;
  const unused =
    isDemo && signers.sui !== undefined
      ? [
          warn(
            "the demo ledger's tokens have signers of their own: TA_SUI_KEY and TA_SUI_ADDRESS are not used",
            "remove them",
          ),
        ]
      : [];
  const all = assets === undefined ? [] : [...taAssets(assets).values()];
  if (all.length === 0) {
    const whose = isAllDemo(config) ? "the demo's" : "no";
    return [ok(`accepts requests for ${whose} assets`), ...unused];
  }
  return [
    ...all.map(({ name, ledger }) => {
      const upper = ledger.toUpperCase();
      if (signers[ledger] === undefined && !(isDemo && ledger === "sui")) {
        return warn(
          `${name}: no signer for its transactions is configured, so its requests wait`,
          `give the process that indexes TA_${upper}_KEY, or TA_SIGNER_URL and TA_${upper}_ADDRESS`,
        );
      }
      if (ledger === "sui" && !node) {
        return warn(
          `${name}: no full node is configured to send its transactions to`,
          "set TA_NODE",
        );
      }
      return ok(`${name}: a signer is configured`);
    }),
    ...unused,
  ];
};
