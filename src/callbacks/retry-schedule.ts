/** When a callback that failed is tried again. */

/** Seconds after the first attempt, the second, and so on: eleven attempts over some three days. */
export const DEFAULT_RETRY_SECONDS: readonly number[] = [
  5, 30, 120, 600, 1_800, 7_200, 21_600, 50_400, 86_400, 86_400,
];

/** Delays vary by this part of themselves, so that many messages do not come back in one wave. */
const JITTER = 0.2;

/** A receiver may ask us to wait this long at most; else one answer could stop a lane for years. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1_000;

/** Attempts that a schedule allows: one at once and one after each delay. */
export const attemptsOf = (retrySeconds: readonly number[]): number => retrySeconds.length + 1;

/**
 * Milliseconds until the next attempt; undefined when that was the last one.
 *
 * `made` counts the attempts made so far, the failed one included. What the receiver asked for by
 * `Retry-After` is honoured where it is longer than the schedule, up to a day. `random` is in [0, 1).
 */
export const retryDelayMs = (
  retrySeconds: readonly number[],
  made: number,
  retryAfterMs: number | undefined,
  random: number = Math.random(),
): number | undefined => {
  const seconds = retrySeconds[made - 1];
  if (seconds === undefined) return undefined;
  const scheduled = seconds * 1_000 * (1 - JITTER + 2 * JITTER * random);
  return Math.max(scheduled, Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS));
};
