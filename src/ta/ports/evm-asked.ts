/** Asking an EVM chain's RPC, and what its failures mean. */
import { BaseError, RpcRequestError } from "viem";
import type { Remedy } from "../../remedy.ts";
import { RelayUnavailableError } from "./relay.ts";

/** The RPC answered, with an error; the message is its own words. */
class RpcAnswerError extends Error {
  override readonly name = "RpcAnswerError";
  readonly remedy: Remedy = "retry";
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
    const why = answer ?? (cause instanceof BaseError ? cause.shortMessage : "does not answer");
    // The error of viem stays here: its message names the URL, which may hold a provider's key.
    throw new RelayUnavailableError(`the chain's RPC: ${why}`, {
      cause: answer === undefined ? undefined : new RpcAnswerError(answer),
    });
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

/** The RPC's own words in an error of `asked`; undefined when it did not answer at all. */
export const wordsOf = (error: unknown): string | undefined =>
  error instanceof RelayUnavailableError && error.cause instanceof RpcAnswerError
    ? error.cause.message
    : undefined;

/** Whether a call failed because the contract would revert it. */
export const isRevert = (error: unknown): boolean => /revert/i.test(answerIn(error) ?? "");

/** What the RPC itself answered, when it answered with an error. */
const answerIn = (error: unknown): string | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof RpcRequestError) return at.details;
  }
  return undefined;
};
