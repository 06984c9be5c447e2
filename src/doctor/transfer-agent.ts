/** Whether this process could send what the transfer agent's requests ask for. */
import type { Assets } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { taAssets } from "../ta/requests/asset.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Looks at the settings alone: keys are not used. */
export const lookAtTransferAgent = (
  { ta, ledgerSource }: Pick<Config, "ta" | "ledgerSource">,
  assets: Assets | undefined,
): readonly Finding[] => {
  const { ok, warn } = findingsOf("transfer agent");
  const all = assets === undefined ? [] : [...taAssets(assets).values()];
  if (all.length === 0) {
    return [ok(`takes requests for ${isDemo(ledgerSource, assets) ? "the demo's" : "no"} assets`)];
  }
  const signs = {
    sui: ta.suiKey ?? (ta.signerUrl && ta.suiAddress),
    evm: ta.evmKey ?? (ta.signerUrl && ta.evmAddress),
  };
  const sends = ta.node !== undefined || /^(grpc\+|demo:)/.test(ledgerSource);
  return all.map(({ name, ledger }) => {
    const upper = ledger.toUpperCase();
    if (signs[ledger] === undefined) {
      return warn(
        `${name}: nothing here signs its transactions, so its requests wait`,
        `give the process that indexes TA_${upper}_KEY, or TA_SIGNER_URL and TA_${upper}_ADDRESS`,
      );
    }
    if (ledger === "sui" && !sends) {
      return warn(`${name}: there is no full node to send its transactions to`, "set TA_NODE");
    }
    return ok(`${name}: a signer is configured`);
  });
};

const isDemo = (ledgerSource: string, assets: Assets | undefined): boolean =>
  ledgerSource.startsWith("demo:") && assets === undefined;
