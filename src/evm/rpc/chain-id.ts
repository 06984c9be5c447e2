/** Which chain an endpoint is of: asked beside every look at the chain, because that can change. */
import { type Outcome, type RpcCall, resultOf } from "./endpoint.ts";
import { WrongChainError } from "./errors.ts";
import { quantity } from "./replies.ts";

/** Goes into a request that is made anyway. */
export const chainIdCall: RpcCall = { method: "eth_chainId", params: [] };

/**
 * @param outcome of `chainIdCall`
 * @throws WrongChainError (stop); LyingRpcError, RpcRefusedError (retry)
 */
export const checkChainId = (
  endpoint: string,
  expected: number,
  outcome: Outcome | undefined,
): void => {
  const found = quantity(endpoint, "chain id", resultOf(outcome));
  if (found !== BigInt(expected)) throw new WrongChainError(endpoint, expected, found);
};
