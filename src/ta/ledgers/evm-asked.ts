/** Asking an EVM chain's RPC, and what its failures mean. */
import { BaseError, HttpRequestError, RpcRequestError } from "viem";
import { harmless } from "../../evm/rpc/hidden-keys.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { type Verdict, verdictOn } from "./evm-verdict.ts";
import { RelayUnavailableError } from "./relay.ts";

/** The RPC answered, with an error; the message is its own words without keys. */
class RpcAnswerError extends Error {
  override readonly name = "RpcAnswerError";
  readonly remedy: Remedy = "retry";
  /** JSON-RPC error code. */
  readonly code: number;
  /** What that means where a transaction was offered. */
  readonly verdict: Verdict;

  constructor({ code, details, url }: RpcRequestError) {
    super(harmless(details, url));
    this.code = code;
    this.verdict = verdictOn(code, details);
  }
}

/**
 * A call's answer; what it fails with becomes RelayUnavailableError. Nobody waits for it once `signal`
 * aborts, though it may still reach the chain.
 * @throws RelayUnavailableError (retry), and the reason of `signal`
 */
export const asked = async <Answer>(
  signal: AbortSignal,
  call: () => Promise<Answer>,
): Promise<Answer> => {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([call(), aborted]);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const answer = answerIn(cause);
    // The error of viem stays here: its message names the URL, which may hold a provider's key.
    const told = answer && new RpcAnswerError(answer);
    throw new RelayUnavailableError(`the chain's RPC: ${told?.message ?? failureOf(cause)}`, {
      cause: told,
    });
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

/** What became of a call that was not answered, without what viem quotes. */
const failureOf = (cause: unknown): string => {
  if (cause instanceof HttpRequestError && cause.status !== undefined)
    return `HTTP ${cause.status}`;
  return cause instanceof BaseError ? cause.shortMessage : "does not answer";
};

/** What an error of `asked` says of the transaction that was offered; undefined without an answer. */
export const verdictIn = (error: unknown): Verdict | undefined =>
  error instanceof RelayUnavailableError && error.cause instanceof RpcAnswerError
    ? error.cause.verdict
    : undefined;

/** Whether a call failed because the contract would revert it. */
export const isRevert = (error: unknown): boolean => /revert/i.test(answerIn(error)?.details ?? "");

/** What the RPC itself answered, when it answered with an error. */
const answerIn = (error: unknown): RpcRequestError | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof RpcRequestError) return at;
  }
  return undefined;
};
