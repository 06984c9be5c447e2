import type { Backoff } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { AdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { CheckpointDamagedError, SourceUnavailableError } from "./source-errors.ts";

/** Why an attempt failed that may go better the next time. */
export type SetbackReason =
  /** The other side is overloaded or out of reach: ask less. */
  | "push-back"
  /** The bytes came and are not what they should be. */
  | "damaged";

/** One attempt failed; `askPatiently` decides whether there is another. */
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
  /** Milliseconds of failures in a row after which it counts as unavailable, too; no end unless given. */
  readonly forMs?: number;
};

/** About half a minute of trying, after which the reader begins again; three readings that are damaged. */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 8,
  damagedAttempts: 3,
  backoff: { firstMs: 250, maxMs: 15_000 },
};

/**
 * A second of trying: where another source is listed, that one is asked next. One that says nothing is asked
 * twice, and one that asks to be left alone for long is.
 */
export const oneOfSeveralPolicy: RetryPolicy = {
  attempts: 3,
  damagedAttempts: 2,
  backoff: { firstMs: 250, maxMs: 1_000 },
  forMs: 2_000,
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

/** A question to a source, and how often it is asked. */
export type PatientQuestion<T> = {
  /** For messages: the source's description. */
  readonly source: string;
  /** For messages: what is asked for. */
  readonly wanted: string;
  /** Throws `Setback` for what may go better the next time. */
  readonly attempt: () => Promise<T>;
  readonly policy: Pick<RetryPolicy, "attempts" | "backoff" | "forMs">;
  readonly onSetback?: OnSetback;
};

/**
 * Asks until there is an answer, with backoff between attempts, or as long as the other side asked for.
 *
 * @throws SourceUnavailableError (retry) after `policy.attempts` or `policy.forMs`
 * @throws whatever else the attempt throws, at once
 * @throws the reason of `signal`
 */
export const askPatiently = async <T extends object | boolean | null>(
  { source, wanted, attempt, policy: { attempts, backoff, forMs }, onSetback }: PatientQuestion<T>,
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

export type PatientFetch<T> = Omit<PatientQuestion<T>, "wanted" | "policy"> & {
  readonly sequence: bigint;
  readonly policy: RetryPolicy;
  /** How many bytes an answer brought; tells the concurrency what the attempt was worth. */
  readonly size: (answer: T) => number;
  readonly concurrency: AdaptiveConcurrency;
};

/**
 * Fetches one checkpoint patiently, and tells the concurrency how each attempt went. Null: not there.
 *
 * @throws CheckpointDamagedError (retry) after `policy.damagedAttempts` damaged answers
 * @throws as `askPatiently`
 */
export const fetchPatiently = async <T extends object | null>(
  { sequence, attempt, size, concurrency, ...question }: PatientFetch<T>,
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
  return askPatiently({ ...question, wanted: `checkpoint ${sequence}`, attempt: measured }, signal);
};
