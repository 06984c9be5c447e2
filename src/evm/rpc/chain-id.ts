/** Which chain an endpoint is of: asked beside every look at the chain, because that can change. */
import { type Endpoint, type Outcome, type RpcCall, resultOf } from "./endpoint.ts";
import { WrongChainError } from "./errors.ts";
import { quantity } from "./replies.ts";

/** Goes into a request that is made anyway. */
export const chainIdCall: RpcCall = { method: "eth_chainId", params: [] };

/** Asks for the number of the newest block. */
export const headCall: RpcCall = { method: "eth_blockNumber", params: [] };

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

/**
 * Number of the newest block that an endpoint of the chain has.
 * @throws WrongChainError (stop); RpcUnavailableError, RpcRefusedError, LyingRpcError (retry)
 */
export const readHead = async (
  endpoint: Endpoint,
  chainId: number,
  signal: AbortSignal,
): Promise<bigint> => {
  const [id, head] = await endpoint.outcomes([chainIdCall, headCall], signal);
  checkChainId(endpoint.label, chainId, id);
  return quantity(endpoint.label, "number of the newest block", resultOf(head));
};
