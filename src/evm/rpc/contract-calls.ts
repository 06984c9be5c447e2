/** What is asked of a token's contracts themselves: its ERC-20 description and its schedules. */
import { decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { tokenReads } from "../contract/functions.ts";
import type { Address, ReleaseSchedule } from "../fact.ts";
import type { Endpoint, Outcome } from "./endpoint.ts";
import type { RpcRefusedError } from "./errors.ts";
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
 * Parameters of release schedules, each at the block that named it; at the latest block where the node
 * has pruned that state (schedules are append-only). Null where the contract refuses.
 * @throws RpcRefusedError (retry) when the node refuses for reasons of its own
 */
export const readSchedules = async (
  endpoint: Endpoint,
  asked: readonly {
    readonly contract: Address;
    readonly scheduleId: bigint;
    readonly block: bigint;
  }[],
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
  const again = calls.filter((_, i) => then[i]?.ok === false);
  const now = await endpoint.outcomes(
    again.map(({ contract, input }) => call(contract, input, "latest")),
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

/** A token as it describes itself now. */
export type TokenDescription = {
  /** Null where the contract does not say, or says something that is not text. */
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  /** In the smallest unit, at the time of reading. */
  readonly totalSupply: bigint | null;
  /** Only newer contracts say, such as "5.0.0". */
  readonly contractVersion: string | null;
};

/**
 * Reads a token's description at the latest block.
 * @throws RpcRefusedError (retry) when the node refuses for reasons of its own
 */
export const describeToken = async (
  endpoint: Endpoint,
  token: Address,
  signal: AbortSignal,
): Promise<TokenDescription> => {
  const names = ["name", "symbol", "decimals", "totalSupply", "contractVersion"] as const;
  const outcomes = await endpoint.outcomes(
    names.map((functionName) =>
      call(token, encodeFunctionData({ abi: tokenReads, functionName }), "latest"),
    ),
    signal,
  );
  const [name, symbol, decimals, totalSupply, contractVersion] = names.map((functionName, i) => {
    const result = resultIn(endpoint, outcomes[i]);
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

/** Postgres refuses NUL inside text. */
const text = (value: unknown): string | null =>
  typeof value === "string" ? value.replaceAll("\u0000", "") : null;
