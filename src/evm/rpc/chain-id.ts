/** The chain of an endpoint, asked beside every read of the chain: it can change. */
import { type Endpoint, type Outcome, type RpcCall, resultOf } from "./endpoint.ts";
import { WrongChainError } from "./errors.ts";
import { quantity } from "./replies.ts";

export const chainIdCall: RpcCall = { method: "eth_chainId", params: [] };

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
 * Outcomes of the calls, at an endpoint that is of the chain when it answers them.
 * @throws WrongChainError (stop); RpcUnavailableError, RpcRefusedError, LyingRpcError (retry)
 */
export const outcomesOn = async (
  endpoint: Endpoint,
  chainId: number,
  calls: readonly RpcCall[],
  signal: AbortSignal,
): Promise<readonly Outcome[]> => {
  const [id, ...outcomes] = await endpoint.outcomes([chainIdCall, ...calls], signal);
  checkChainId(endpoint.label, chainId, id);
  return outcomes;
};

/** Number of the newest block. @throws as `outcomesOn` */
export const readHead = async (
  endpoint: Endpoint,
  chainId: number,
  signal: AbortSignal,
): Promise<bigint> => {
  const [head] = await outcomesOn(endpoint, chainId, [headCall], signal);
  return quantity(endpoint.label, "number of the newest block", resultOf(head));
};
