/** What is asked of a token's contracts themselves: its ERC-20 description and its schedules. */
import { decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import type { Address, ReleaseSchedule } from "../contract/fact.ts";
import { tokenReads } from "../contract/functions.ts";
import { chainIdCall, checkChainId } from "./chain-id.ts";
import type { Endpoint, Outcome } from "./endpoint.ts";
import { LyingRpcError, type RpcRefusedError } from "./errors.ts";
import { hex } from "./logs.ts";
import { data } from "./replies.ts";

const call = (to: Address, input: Hex, block: string) => ({
  method: "eth_call",
  params: [{ to, data: input }, block],
});

/** A refusal that comes from the contract, and so will be the same at every node. */
const isRevert = ({ code, details }: RpcRefusedError) =>
  code === 3 || /revert|invalid opcode|invalid jump|out of gas/i.test(details);

/**
 * Parameters of release schedules, each at the block that named it; at the newest block where the node has
 * pruned that state (schedules are append-only). Null where the contract refuses or answers nothing.
 * Blocks are asked for by number: a node that has not got that far refuses, and says nothing of the
 * contract.
 * @param head number of the chain's newest block
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
  // A contract may answer so, for it keeps no schedules; an address without code answers so too.
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
    // Four numbers are not what this contract keeps for a schedule.
    return null;
  }
};

/** Bytes of a call's result; null for a revert, or an address without code. */
const resultIn = (endpoint: Endpoint, outcome: Outcome | undefined): Hex | null => {
  if (outcome === undefined) return null;
  if (!outcome.ok) {
    if (isRevert(outcome.error)) return null;
    throw outcome.error;
  }
  const result = data(endpoint.label, "result of eth_call", outcome.result);
  return result === "0x" ? null : result;
};

/** A question to a token as it stood after a block. */
export type TokenAsked = {
  readonly chainId: number;
  readonly token: Address;
  readonly block: bigint;
};

/** A token as it describes itself. */
export type TokenDescription = {
  /** Null where the contract does not say, or says something that is not text. */
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  /** In the smallest unit, at the block of reading. */
  readonly totalSupply: bigint | null;
  /** Only newer contracts say, such as "5.0.0". */
  readonly contractVersion: string | null;
};

/**
 * Reads a token's description at a block that has logs of it below, or its own.
 * @throws LyingRpcError (retry) when it answers nothing at all: the node does not have the contract
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 * @throws RpcRefusedError (retry) when the node refuses for reasons of its own, such as a block that it
 *   does not have yet
 */
export const describeToken = async (
  endpoint: Endpoint,
  { chainId, token, block }: TokenAsked,
  signal: AbortSignal,
): Promise<TokenDescription> => {
  const names = ["name", "symbol", "decimals", "totalSupply", "contractVersion"] as const;
  const [id, ...outcomes] = await endpoint.outcomes(
    [
      chainIdCall,
      ...names.map((functionName) =>
        call(token, encodeFunctionData({ abi: tokenReads, functionName }), hex(block)),
      ),
    ],
    signal,
  );
  checkChainId(endpoint.label, chainId, id);
  const results = outcomes.map((outcome) => resultIn(endpoint, outcome));
  if (results.every((result) => result === null)) {
    const what = `${token} answers nothing at block ${block}, although it has logs`;
    throw new LyingRpcError(endpoint.label, "contract without answers", what);
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

/** A token's supply at a block, in its smallest unit; null where contract or node do not tell. */
export const readTotalSupply = async (
  endpoint: Endpoint,
  { chainId, token, block }: TokenAsked,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const input = encodeFunctionData({ abi: tokenReads, functionName: "totalSupply" });
  const [id, outcome] = await endpoint.outcomes(
    [chainIdCall, call(token, input, hex(block))],
    signal,
  );
  checkChainId(endpoint.label, chainId, id);
  if (outcome?.ok !== true) return null;
  const result = data(endpoint.label, "result of eth_call", outcome.result);
  return result.length === 66 ? BigInt(result) : null;
};

/** Which of the contracts stood at a block; none where the node does not know so old a state. */
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
  const [id, ...codes] = await endpoint.outcomes(
    [
      chainIdCall,
      ...contracts.map((address) => ({ method: "eth_getCode", params: [address, hex(block)] })),
    ],
    signal,
  );
  checkChainId(endpoint.label, chainId, id);
  return contracts.filter((_, i) => {
    const code = codes[i];
    return code?.ok === true && data(endpoint.label, "code", code.result) !== "0x";
  });
};

/** Characters of a text that are kept: it is part of every record, and a contract may say anything. */
const LONGEST_TEXT = 256;

/** Postgres refuses NUL inside text, and half of a pair that stands for one character. */
const text = (value: unknown): string | null =>
  typeof value === "string"
    ? value.replaceAll("\u0000", "").slice(0, LONGEST_TEXT).toWellFormed()
    : null;
