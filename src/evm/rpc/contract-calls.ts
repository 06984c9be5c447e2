/** Reads of a token's contracts: its ERC-20 description, supply and schedules. */
import { decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import type { Address, ReleaseSchedule } from "../contract/fact.ts";
import { tokenReads } from "../contract/functions.ts";
import { outcomesOn } from "./chain-id.ts";
import type { Endpoint, Outcome } from "./endpoint.ts";
import { isOfContract, LyingRpcError } from "./errors.ts";
import { hex } from "./logs.ts";
import { data } from "./replies.ts";

const call = (to: Address, input: Hex, block: string) => ({
  method: "eth_call",
  params: [{ to, data: input }, block],
});

/**
 * Release schedules, each at the block that named it; at `head`, the newest one, where the node has
 * pruned that state (schedules are append-only). Null where the contract refuses or answers nothing.
 * By block number: a node that lags refuses.
 * @throws LyingRpcError (retry) when the node does not have the contract at the block that it logged in
 * @throws RpcRefusedError (retry) when the node refuses for reasons of its own
 */
export const readSchedules = async (
  endpoint: Endpoint,
  asked: readonly {
    readonly contract: Address;
    readonly scheduleId: bigint;
    readonly block: bigint;
  }[],
  head: bigint,
  signal: AbortSignal,
): Promise<readonly (ReleaseSchedule | null)[]> => {
  const calls = asked.map(({ contract, scheduleId, block }) => {
    const input = encodeFunctionData({
      abi: tokenReads,
      functionName: "releaseSchedules",
      args: [scheduleId],
    });
    return { contract, input, block: hex(block) };
  });
  const then = await endpoint.outcomes(
    calls.map(({ contract, input, block }) => call(contract, input, block)),
    signal,
  );
  // A contract without schedules, or an address without code.
  const silent = calls.filter((_, i) => then[i]?.ok === true && then[i].result === "0x");
  const codes = await endpoint.batch(
    silent.map(({ contract, block }) => ({ method: "eth_getCode", params: [contract, block] })),
    signal,
  );
  silent.forEach(({ contract, block }, i) => {
    if (codes[i] !== "0x") return;
    const what = `has no contract ${contract} at block ${BigInt(block)}, although it logged there`;
    throw new LyingRpcError(endpoint.label, "contract without answers", what);
  });
  const again = calls.filter((_, i) => then[i]?.ok === false);
  const now = await endpoint.outcomes(
    again.map(({ contract, input }) => call(contract, input, hex(head))),
    signal,
  );
  const latest = new Map(again.map((each, i) => [each, now[i]]));
  return calls.map((each, i) => scheduleIn(endpoint, latest.get(each) ?? then[i]));
};

const scheduleIn = (endpoint: Endpoint, outcome: Outcome | undefined): ReleaseSchedule | null => {
  const result = resultIn(endpoint, outcome);
  if (result === null) return null;
  try {
    const [count, delay, portion, period] = decodeFunctionResult({
      abi: tokenReads,
      functionName: "releaseSchedules",
      data: result,
    });
    return {
      releaseCount: count,
      delayUntilFirstReleaseInSeconds: delay,
      initialReleasePortionInBips: portion,
      periodBetweenReleasesInSeconds: period,
    };
  } catch {
    // The contract keeps its schedules in another form.
    return null;
  }
};

/** Bytes of a call's result; null for a revert, or an address without code. */
const resultIn = (endpoint: Endpoint, outcome: Outcome | undefined): Hex | null => {
  if (outcome === undefined) return null;
  if (!outcome.ok) {
    const { code, details } = outcome.error;
    if (isOfContract(code, details)) return null;
    throw outcome.error;
  }
  const result = data(endpoint.label, "result of eth_call", outcome.result);
  return result === "0x" ? null : result;
};

/** A token after a block. */
type TokenAt = {
  readonly chainId: number;
  readonly token: Address;
  readonly block: bigint;
};

/** Null where the contract does not answer, or in another form. */
export type TokenDescription = {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  /** In the smallest unit, at the block of reading. */
  readonly totalSupply: bigint | null;
  /** Such as "5.0.0"; newer contracts only. */
  readonly contractVersion: string | null;
};

/**
 * At a block that has logs of the token below it, or its own.
 * @throws LyingRpcError (retry) when the node does not have the contract
 * @throws WrongChainError (stop)
 * @throws RpcRefusedError (retry) when the node refuses for its own reasons, such as a missing block
 */
export const describeToken = async (
  endpoint: Endpoint,
  { chainId, token, block }: TokenAt,
  signal: AbortSignal,
): Promise<TokenDescription> => {
  const names = ["name", "symbol", "decimals", "totalSupply", "contractVersion"] as const;
  const calls = names.map((functionName) =>
    call(token, encodeFunctionData({ abi: tokenReads, functionName }), hex(block)),
  );
  const outcomes = await outcomesOn(endpoint, chainId, calls, signal);
  const results = outcomes.map((outcome) => resultIn(endpoint, outcome));
  // Only a contract refuses.
  if (outcomes.every(({ ok }, i) => ok && results[i] === null)) {
    const [code] = await endpoint.batch(
      [{ method: "eth_getCode", params: [token, hex(block)] }],
      signal,
    );
    const what = `has no contract ${token} at block ${block}, although it has logs`;
    if (code === "0x") throw new LyingRpcError(endpoint.label, "contract without answers", what);
  }
  const [name, symbol, decimals, totalSupply, contractVersion] = names.map((functionName, i) => {
    const result = results[i] ?? null;
    if (result === null) return null;
    try {
      return decodeFunctionResult({ abi: tokenReads, functionName, data: result });
    } catch {
      return null;
    }
  });
  return {
    name: text(name),
    symbol: text(symbol),
    decimals: typeof decimals === "number" ? decimals : null,
    totalSupply: typeof totalSupply === "bigint" ? totalSupply : null,
    contractVersion: text(contractVersion),
  };
};

/** In the smallest unit; null where contract or node do not answer. */
export const readTotalSupply = async (
  endpoint: Endpoint,
  { chainId, token, block }: TokenAt,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const input = encodeFunctionData({ abi: tokenReads, functionName: "totalSupply" });
  const calls = [call(token, input, hex(block))];
  const [outcome] = await outcomesOn(endpoint, chainId, calls, signal);
  if (outcome?.ok !== true) return null;
  const result = data(endpoint.label, "result of eth_call", outcome.result);
  return result.length === 66 ? BigInt(result) : null;
};

/** Contracts that exist at a block; none where the node has pruned its state. */
export const contractsAt = async (
  endpoint: Endpoint,
  {
    chainId,
    contracts,
    block,
  }: {
    readonly chainId: number;
    readonly contracts: readonly Address[];
    readonly block: bigint;
  },
  signal: AbortSignal,
): Promise<readonly Address[]> => {
  const calls = contracts.map((address) => ({
    method: "eth_getCode",
    params: [address, hex(block)],
  }));
  const codes = await outcomesOn(endpoint, chainId, calls, signal);
  return contracts.filter((_, i) => {
    const code = codes[i];
    return code?.ok === true && data(endpoint.label, "code", code.result) !== "0x";
  });
};

/** Characters kept: every record has the text, and a contract may return anything. */
const LONGEST_TEXT = 256;

/** Postgres refuses NUL and lone surrogates in text. */
const text = (value: unknown): string | null =>
  typeof value === "string"
    ? value.replaceAll("\u0000", "").slice(0, LONGEST_TEXT).toWellFormed()
    : null;
