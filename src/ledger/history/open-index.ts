import { ConfigError } from "../../settings/config-error.ts";
import { shownUrl } from "../../settings/shown-url.ts";
import { readGrpcAddress } from "../sources/grpc-address.ts";
import { type GrpcIndexOptions, grpcIndex } from "./grpc-index.ts";
import type { LedgerIndex } from "./ledger-index.ts";

/**
 * Opens a full node's lists; contacts nothing yet.
 *
 * @param setting `grpc+https://host:port`
 * @throws ConfigError
 */
export const openIndex = (
  setting: string,
  options: Omit<GrpcIndexOptions, "host" | "tls"> = {},
): LedgerIndex => {
  const address = readGrpcAddress(setting);
  if ("problem" in address) {
    throw new ConfigError(`${shownUrl(setting)} ${address.problem}`);
  }
  return grpcIndex({ ...address, ...options });
};
