import { type Backoff, backoffMs, pause } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { AdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { CheckpointDamagedError, SourceUnavailableError } from "./source-errors.ts";

/** Why an attempt failed that may go better the next time. */
export type SetbackReason =
  /** The other side is overloaded or out of reach: ask less. */
  | "push-back"
  /** The bytes came and are not what they should be. */
  | "damaged";

/** One attempt failed; `fetchPatiently` decides whether there is another. */
export class Setback extends Error {
  override readonly name = "Setback";
  readonly remedy: Remedy = "retry";
  readonly reason: SetbackReason;
  /** How long the other side asked to wait, milliseconds; 0 when it did not say. */
  readonly pauseMs: number;

  constructor(reason: SetbackReason, message: string, pauseMs = 0, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.pauseMs = pauseMs;
  }
}

/** Bounds of one patient fetch. */
export type RetryPolicy = {
  /** Attempts in all before the source counts as unavailable, 1 or more. */
  readonly attempts: number;
  /** Attempts that may bring damaged bytes before the checkpoint counts as damaged, 1 or more. */
  readonly damagedAttempts: number;
  readonly backoff: Backoff;
};

/** About ten minutes of trying; three readings before a checkpoint counts as damaged. */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 24,
  damagedAttempts: 3,
  backoff: { firstMs: 250, maxMs: 30_000 },
};

/** Told of a failed attempt that is followed by another after `waitMs`. */
export type OnSetback = (setback: {
  readonly source: string;
  /** What was asked for, such as `checkpoint 42`. */
  readonly wanted: string;
  /** Attempts that failed so far in a row, from 1. */
  readonly failures: number;
  readonly reason: string;
  readonly waitMs: number;
}) => void;

export type PatientFetch<T> = {
  /** For messages: the source's description. */
  readonly source: string;
  readonly sequence: bigint;
  /** Returns null for "not there"; throws `Setback` for what may go better the next time. */
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  /** How many bytes an answer brought; tells the concurrency what the attempt was worth. */
  readonly size: (answer: T) => number;
  readonly concurrency: AdaptiveConcurrency;
  readonly policy: RetryPolicy;
  readonly onSetback: OnSetback;
};

/**
 * Fetches one checkpoint, with backoff between attempts, and tells the concurrency how each went.
 *
 * @throws SourceUnavailableError (retry) after `policy.attempts`
 * @throws CheckpointDamagedError (stop) after `policy.damagedAttempts` damaged answers
 * @throws whatever else the attempt throws, at once
 */
export const fetchPatiently = async <T>(
  { source, sequence, attempt, size, concurrency, policy, onSetback }: PatientFetch<T>,
  signal: AbortSignal,
): Promise<T> => {
  const wanted = `checkpoint ${sequence}`;
  let damaged = 0;
  for (let failures = 1; ; failures += 1) {
    await concurrency.cleared(signal);
    signal.throwIfAborted();
    const request = concurrency.begin();
    try {
      const answer = await attempt(signal);
      request.succeeded(size(answer));
      return answer;
    } catch (error) {
      if (!(error instanceof Setback) || signal.aborted) {
        request.ended();
        throw error;
      }
      if (error.reason === "push-back") request.pushedBack(error.pauseMs);
      else {
        request.ended();
        damaged += 1;
        if (damaged >= policy.damagedAttempts) {
          throw new CheckpointDamagedError(source, sequence, damaged, error);
        }
      }
      if (failures >= policy.attempts) {
        throw new SourceUnavailableError(source, wanted, failures, error);
      }
      const waitMs = Math.max(error.pauseMs, backoffMs(failures, policy.backoff));
      onSetback({ source, wanted, failures, reason: error.message, waitMs });
      await pause(waitMs, signal);
    }
  }
};
