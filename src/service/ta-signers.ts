/** Configured nodes and signers of the transfer agent's transactions; contacts nothing. */
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

/** A full node, and the headers of every call. */
type NodeAddress = GrpcAddress & Pick<LedgerSource, "headers">;

type TaConfig = Pick<Config, "ta">;

/**
 * The full node for transactions: TA_NODE, or the first one among the ledger's sources.
 * @throws ConfigError
 */
export const nodeAddressOf = ({
  ta,
  ledgerSources,
}: Pick<Config, "ta" | "ledgerSources">): NodeAddress | undefined => {
  // A source's headers may hold its provider's key: send them to no other host.
  const own = ta.node === undefined ? undefined : { setting: ta.node, headers: {} };
  const node = own ?? ledgerSources.find(({ setting }) => setting.startsWith("grpc+"));
  if (node === undefined) return undefined;
  const address = readGrpcAddress(node.setting);
  // Sources were validated before: only TA_NODE can be wrong here.
  if ("problem" in address) throw new ConfigError(`TA_NODE: ${address.problem}`);
  return { ...address, headers: node.headers };
};

/** Undefined without a signer. @throws ConfigError */
export const suiSignerOf = async ({ ta }: TaConfig): Promise<SuiSigner | undefined> => {
  const { suiKey } = ta;
  if (suiKey !== undefined) return keyOf("TA_SUI_KEY", () => suiKeySigner(suiKey));
  if (ta.signerUrl === undefined || ta.suiAddress === undefined) return undefined;
  const { httpSuiSigner } = await import("../ta/ledgers/http-signer.ts");
  return httpSuiSigner({ url: ta.signerUrl, token: ta.signerToken, address: ta.suiAddress });
};

/** Undefined without a signer. @throws ConfigError */
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

/** @throws ConfigError naming the setting with the unreadable key */
const keyOf = <Signer>(setting: string, read: () => Signer): Signer => {
  try {
    return read();
  } catch (error) {
    if (error instanceof SigningError) throw new ConfigError(`${setting}: ${error.message}`);
    throw error;
  }
};
