import type { Backoff } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { AdaptiveConcurrency, ConcurrencyBounds } from "./adaptive-concurrency.ts";
import type { WindowBounds } from "./fetch-ahead.ts";
import type { SourceObserver } from "./source-contact.ts";
import { CheckpointDamagedError, SourceUnavailableError } from "./source-errors.ts";

/** Why an attempt failed that may succeed later. */
type SetbackReason =
  /** Overloaded or unreachable: ask less. */
  | "push-back"
  /** The bytes are invalid. */
  | "damaged";

/** A failed attempt; `askWithRetries` decides about another. */
export class Setback extends Error {
  override readonly name = "Setback";
  readonly remedy: Remedy = "retry";
  readonly reason: SetbackReason;
  /** Requested pause in ms; 0 without one. */
  readonly pauseMs: number;

  constructor(reason: SetbackReason, message: string, pauseMs = 0, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.pauseMs = pauseMs;
  }
}

export type RetryPolicy = {
  /** Attempts before the source counts as unavailable, 1 or more. */
  readonly attempts: number;
  /** Damaged answers before the checkpoint counts as damaged, 1 or more. */
  readonly damagedAttempts: number;
  readonly backoff: Backoff;
  /** Longest series of failures before a source is unavailable, ms; unlimited by default. */
  readonly forMs?: number;
};

/** Half a minute of attempts, or three damaged answers. */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 8,
  damagedAttempts: 3,
  backoff: { firstMs: 250, maxMs: 15_000 },
};

/** About a second, where another source is listed; a longer pause requested ends the attempts. */
export const oneOfSeveralPolicy: RetryPolicy = {
  attempts: 3,
  damagedAttempts: 2,
  backoff: { firstMs: 250, maxMs: 1_000 },
  forMs: 2_000,
};

/** Called for a failed attempt that is retried after `waitMs`. */
export type OnSetback = (setback: {
  readonly source: string;
  /** Such as `checkpoint 42`. */
  readonly wanted: string;
  /** Consecutive failures, from 1. */
  readonly failures: number;
  readonly reason: string;
  readonly waitMs: number;
}) => void;

/** Options of sources on a network. */
export type NetworkOptions = {
  /** Sent with every request, such as a provider's key; never logged. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly concurrency?: ConcurrencyBounds;
  readonly window?: WindowBounds;
  readonly retry?: RetryPolicy;
  /** Polling interval at the tip, ms. */
  readonly pollMs?: number;
  readonly onSetback?: OnSetback;
  /** Notified of every answer and failure. */
  readonly observer?: SourceObserver | undefined;
};

type RetriedRequest<T> = {
  /** The source's description, for messages. */
  readonly source: string;
  /** For messages. */
  readonly wanted: string;
  /** Throws `Setback` for transient failures. */
  readonly attempt: () => Promise<T>;
  readonly policy: Pick<RetryPolicy, "attempts" | "backoff" | "forMs">;
  readonly onSetback?: OnSetback;
};

/**
 * Retries until there is an answer, with backoff or the pause requested.
 *
 * @throws SourceUnavailableError (retry) after `policy.attempts` or `policy.forMs`
 * @throws any other error of the attempt
 * @throws the reason of `signal`
 */
export const askWithRetries = async <T extends object | boolean | null>(
  { source, wanted, attempt, policy: { attempts, backoff, forMs }, onSetback }: RetriedRequest<T>,
  signal: AbortSignal,
): Promise<T> => {
  let failed = 0;
  try {
    const answer = await retrying(
      attempt,
      {
        backoff,
        attempts,
        forMs,
        remedy: (error) => (error instanceof Setback ? "retry" : "stop"),
        leastMs: (error) => (error instanceof Setback ? error.pauseMs : 0),
        onTrouble: ({ message: reason }, waitMs, failures) => {
          failed = failures;
          onSetback?.({ source, wanted, failures, reason, waitMs });
        },
      },
      signal,
    );
    if (answer !== undefined) return answer;
  } catch (error) {
    if (!(error instanceof Setback)) throw error;
    throw new SourceUnavailableError(source, wanted, failed + 1, error);
  }
  throw signal.reason;
};

type RetriedFetch<T> = Omit<RetriedRequest<T>, "wanted" | "policy"> & {
  readonly sequence: bigint;
  readonly policy: RetryPolicy;
  /** Bytes transferred, for the concurrency. */
  readonly size: (answer: T) => number;
  readonly concurrency: AdaptiveConcurrency;
};

/**
 * Fetches a checkpoint with retries, and reports attempts to the concurrency. Null: not there.
 *
 * @throws CheckpointDamagedError (retry) after `policy.damagedAttempts`
 * @throws as `askWithRetries`
 */
export const fetchWithRetries = async <T extends object | null>(
  { sequence, attempt, size, concurrency, ...question }: RetriedFetch<T>,
  signal: AbortSignal,
): Promise<T> => {
  const { source, policy } = question;
  let damaged = 0;
  const measured = async (): Promise<T> => {
    await concurrency.cleared(signal);
    signal.throwIfAborted();
    const request = concurrency.begin();
    try {
      const answer = await attempt();
      request.succeeded(size(answer));
      return answer;
    } catch (error) {
      const setback = error instanceof Setback && !signal.aborted ? error : undefined;
      if (setback?.reason === "push-back")
        request.pushedBack(Math.min(setback.pauseMs, policy.forMs ?? Number.POSITIVE_INFINITY));
      else request.ended();
      if (setback?.reason === "damaged") {
        damaged += 1;
        if (damaged >= policy.damagedAttempts) {
          throw new CheckpointDamagedError(source, sequence, damaged, error);
        }
      }
      throw error;
    }
  };
  return askWithRetries(
    { ...question, wanted: `checkpoint ${sequence}`, attempt: measured },
    signal,
  );
};
