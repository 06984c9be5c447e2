/** Where the transfer agent's transactions go and who signs them, as the settings have it; nothing is contacted. */
import { type GrpcAddress, readGrpcAddress } from "../ledger/sources/grpc-address.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import type { LedgerSource } from "../settings/ledger-sources.ts";
import {
  type EvmSigner,
  SigningError,
  type SuiSigner,
  suiKeySigner,
} from "../ta/ledgers/signer.ts";

/** A full node, and what is sent to it with every call. */
type NodeAddress = GrpcAddress & Pick<LedgerSource, "headers">;

type TaConfig = Pick<Config, "ta">;

/**
 * The full node that transactions go to: TA_NODE, or the first one among the ledger's sources.
 * @throws ConfigError
 */
export const nodeAddressOf = ({
  ta,
  ledgerSources,
}: Pick<Config, "ta" | "ledgerSources">): NodeAddress | undefined => {
  // Headers are the source's: a provider's key goes to no other host.
  const own = ta.node === undefined ? undefined : { setting: ta.node, headers: {} };
  const node = own ?? ledgerSources.find(({ setting }) => setting.startsWith("grpc+"));
  if (node === undefined) return undefined;
  const address = readGrpcAddress(node.setting);
  // The ledger's source was opened from the same text: only a TA_NODE can be wrong here.
  if ("problem" in address) throw new ConfigError(`TA_NODE: ${address.problem}`);
  return { ...address, headers: node.headers };
};

/** Who signs transactions on Sui; undefined: nobody here. @throws ConfigError */
export const suiSignerOf = async ({ ta }: TaConfig): Promise<SuiSigner | undefined> => {
  const { suiKey } = ta;
  if (suiKey !== undefined) return keyOf("TA_SUI_KEY", () => suiKeySigner(suiKey));
  if (ta.signerUrl === undefined || ta.suiAddress === undefined) return undefined;
  const { httpSuiSigner } = await import("../ta/ledgers/http-signer.ts");
  return httpSuiSigner({ url: ta.signerUrl, token: ta.signerToken, address: ta.suiAddress });
};

/** Who signs transactions on EVM chains; undefined: nobody here. @throws ConfigError */
export const evmSignerOf = async ({ ta }: TaConfig): Promise<EvmSigner | undefined> => {
  const { evmKey } = ta;
  if (evmKey !== undefined) {
    const { evmKeySigner } = await import("../ta/ledgers/evm-key-signer.ts");
    return keyOf("TA_EVM_KEY", () => evmKeySigner(evmKey));
  }
  if (ta.signerUrl === undefined) return undefined;
  if (ta.evmAddress === undefined && ta.suiAddress === undefined) {
    throw new ConfigError(
      "TA_SIGNER_URL: needs TA_SUI_ADDRESS or TA_EVM_ADDRESS, the signer's own",
    );
  }
  if (ta.evmAddress === undefined) return undefined;
  const { httpEvmSigner } = await import("../ta/ledgers/http-signer.ts");
  return httpEvmSigner({ url: ta.signerUrl, token: ta.signerToken, address: ta.evmAddress });
};

/** @throws ConfigError naming the setting whose key cannot be read */
const keyOf = <Signer>(setting: string, read: () => Signer): Signer => {
  try {
    return read();
  } catch (error) {
    if (error instanceof SigningError) throw new ConfigError(`${setting}: ${error.message}`);
    throw error;
  }
};
