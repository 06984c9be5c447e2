/** What it takes to send a transaction: the sender's nonce, today's prices, the offer, and the receipt. */
import type { Hex } from "viem";
import type { Address } from "../contract/fact.ts";
import { chainIdCall, checkChainId, headCall } from "./chain-id.ts";
import { type Endpoint, resultOf } from "./endpoint.ts";
import { LyingRpcError } from "./errors.ts";
import { hex } from "./logs.ts";
import { data, number, object, index as position, quantity } from "./replies.ts";

/**
 * How many transactions of an address are mined, as of the newest block or of `block`.
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 */
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
  const [id, count] = await endpoint.outcomes(
    [chainIdCall, { method: "eth_getTransactionCount", params: [address, at] }],
    signal,
  );
  checkChainId(endpoint.label, chainId, id);
  return position(endpoint.label, "number of transactions", resultOf(count));
};

/** As `readTransactionCount`, as of `depth` blocks below the newest one; 0 on a chain that is not as long. */
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

/** What a transaction costs now. Amounts in the chain's smallest unit per gas. */
export type Prices = {
  readonly baseFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** What the call is estimated to need; null when the contract would revert it. */
  readonly gas: bigint | null;
};

/**
 * Prices of a call, by the newest block.
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 * @throws LyingRpcError (retry) also where blocks have no base fee: the chain has no EIP-1559
 */
export const readPrices = async (
  endpoint: Endpoint,
  chainId: number,
  call: { readonly from: Address; readonly to: Hex; readonly data: Hex },
  signal: AbortSignal,
): Promise<Prices> => {
  const { label } = endpoint;
  const [id, block, tip, estimate] = await endpoint.outcomes(
    [
      chainIdCall,
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      { method: "eth_maxPriorityFeePerGas", params: [] },
      { method: "eth_estimateGas", params: [call] },
    ],
    signal,
  );
  checkChainId(label, chainId, id);
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

/** For nodes without `eth_maxPriorityFeePerGas`: what their gas price has beyond the base fee. */
const priorityFee = async (endpoint: Endpoint, baseFeePerGas: bigint, signal: AbortSignal) => {
  const [answer] = await endpoint.batch([{ method: "eth_gasPrice", params: [] }], signal);
  const price = quantity(endpoint.label, "gas price", answer);
  return price < baseFeePerGas ? 0n : price - baseFeePerGas;
};

/**
 * What an address has, in the chain's smallest unit, and what gas costs now.
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 * @throws LyingRpcError (retry) also where blocks have no base fee: the chain has no EIP-1559
 */
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
 * Offers a signed transaction. Whatever is thrown, it may have been taken, except where the endpoint
 * refused it.
 * @throws RpcRefusedError, RpcUnavailableError, LyingRpcError (retry)
 */
export const sendTransaction = async (
  endpoint: Endpoint,
  signed: Hex,
  signal: AbortSignal,
): Promise<void> => {
  await endpoint.batch([{ method: "eth_sendRawTransaction", params: [signed] }], signal);
};

/** A mined transaction. */
export type Receipt = {
  /** Null where the endpoint has the transaction without saying in which block. */
  readonly block: bigint | null;
  /** Index inside the block, from 0. */
  readonly index: number | null;
  /** False when it was reverted. */
  readonly succeeded: boolean;
};

/** The receipt of a transaction; null when the endpoint has none. */
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
