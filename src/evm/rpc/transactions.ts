/** Sending a transaction: the sender's nonce, prices, the submission, the receipt. */
import type { Hex } from "viem";
import type { Address } from "../contract/fact.ts";
import { headCall, outcomesOn } from "./chain-id.ts";
import { type Endpoint, resultOf } from "./endpoint.ts";
import { LyingRpcError } from "./errors.ts";
import { hex } from "./logs.ts";
import { data, number, object, index as position, quantity } from "./replies.ts";

/** Mined transactions of an address at the newest block, or at `block`. @throws WrongChainError (stop) */
export const readTransactionCount = async (
  endpoint: Endpoint,
  {
    chainId,
    address,
    block,
  }: { readonly chainId: number; readonly address: Address; readonly block?: bigint },
  signal: AbortSignal,
): Promise<number> => {
  const at = block === undefined ? "latest" : hex(block);
  const call = { method: "eth_getTransactionCount", params: [address, at] };
  const [count] = await outcomesOn(endpoint, chainId, [call], signal);
  return position(endpoint.label, "number of transactions", resultOf(count));
};

/** The same `depth` blocks below the newest one; 0 on a shorter chain. */
export const readSettledCount = async (
  endpoint: Endpoint,
  {
    depth,
    ...asked
  }: { readonly chainId: number; readonly address: Address; readonly depth: bigint },
  signal: AbortSignal,
): Promise<number> => {
  const [answer] = await endpoint.batch([headCall], signal);
  const head = quantity(endpoint.label, "number of the newest block", answer);
  if (head < depth) return 0;
  return await readTransactionCount(endpoint, { ...asked, block: head - depth }, signal);
};

/** In the chain's smallest unit. */
export type Prices = {
  readonly baseFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** Estimated; null when the contract would revert the call. */
  readonly gas: bigint | null;
};

/**
 * Prices of a call, by the newest block.
 * @throws WrongChainError (stop); LyingRpcError (retry) also for a chain without EIP-1559 (no base fee)
 */
export const readPrices = async (
  endpoint: Endpoint,
  chainId: number,
  call: { readonly from: Address; readonly to: Hex; readonly data: Hex },
  signal: AbortSignal,
): Promise<Prices> => {
  const { label } = endpoint;
  const [block, tip, estimate] = await outcomesOn(
    endpoint,
    chainId,
    [
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      { method: "eth_maxPriorityFeePerGas", params: [] },
      { method: "eth_estimateGas", params: [call] },
    ],
    signal,
  );
  const newest = object(label, "newest block", resultOf(block));
  const baseFeePerGas = quantity(label, "base fee of the newest block", newest.baseFeePerGas);
  const reverts = estimate?.ok === false && /revert/i.test(estimate.error.details);
  return {
    baseFeePerGas,
    maxPriorityFeePerGas:
      tip?.ok === true
        ? quantity(label, "priority fee", tip.result)
        : await priorityFee(endpoint, baseFeePerGas, signal),
    gas: reverts ? null : quantity(label, "estimate of gas", resultOf(estimate)),
  };
};

/** For nodes without `eth_maxPriorityFeePerGas`: their gas price above the base fee. */
const priorityFee = async (endpoint: Endpoint, baseFeePerGas: bigint, signal: AbortSignal) => {
  const [answer] = await endpoint.batch([{ method: "eth_gasPrice", params: [] }], signal);
  const price = quantity(endpoint.label, "gas price", answer);
  return price < baseFeePerGas ? 0n : price - baseFeePerGas;
};

/** An address's balance, and the prices now. @throws as `readPrices` */
export const readFunds = async (
  endpoint: Endpoint,
  chainId: number,
  address: Address,
  signal: AbortSignal,
): Promise<Omit<Prices, "gas"> & { readonly balance: bigint }> => {
  const call = { from: address, to: address, data: "0x" } as const;
  const [prices, [balance]] = await Promise.all([
    readPrices(endpoint, chainId, call, signal),
    endpoint.batch([{ method: "eth_getBalance", params: [address, "latest"] }], signal),
  ]);
  return { ...prices, balance: quantity(endpoint.label, "balance", balance) };
};

/**
 * @throws RpcRefusedError (retry) it was not taken
 * @throws RpcUnavailableError, LyingRpcError (retry) it may have been taken
 */
export const sendTransaction = async (
  endpoint: Endpoint,
  signed: Hex,
  signal: AbortSignal,
): Promise<void> => {
  await endpoint.batch([{ method: "eth_sendRawTransaction", params: [signed] }], signal);
};

/** A mined transaction. */
type Receipt = {
  /** Null where the endpoint does not name it. */
  readonly block: bigint | null;
  /** Index inside the block, from 0. */
  readonly index: number | null;
  /** False when it was reverted. */
  readonly succeeded: boolean;
};

/** Null when the endpoint has none. */
export const readReceipt = async (
  endpoint: Endpoint,
  hash: Hex,
  signal: AbortSignal,
): Promise<Receipt | null> => {
  const { label } = endpoint;
  const [answer] = await endpoint.batch(
    [{ method: "eth_getTransactionReceipt", params: [hash] }],
    signal,
  );
  if (answer === null || answer === undefined) return null;
  const receipt = object(label, "receipt", answer);
  const found = data(label, "transaction of a receipt", receipt.transactionHash, 32);
  if (found !== hash) {
    const what = `asked for the receipt of ${hash}, got that of ${found}`;
    throw new LyingRpcError(label, "receipt of a transaction", what);
  }
  const { blockNumber, transactionIndex, status } = receipt;
  return {
    block: blockNumber === null ? null : number(label, "block number of a receipt", blockNumber),
    index:
      transactionIndex === null ? null : position(label, "index of a receipt", transactionIndex),
    succeeded: quantity(label, "status of a receipt", status) === 1n,
  };
};
