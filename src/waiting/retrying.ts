/** The one retry loop: acts on the remedy of errors. */
import { type Backoff, backoffMs, pause } from "./backoff.ts";
import { errorOf, type Remedy, remedyOf } from "./remedy.ts";

export type Retrying = {
  /** Delays, jittered. */
  readonly backoff: Backoff;
  /** Classifies an error; `remedyOf` by default. */
  readonly remedy?: (error: unknown) => Remedy;
  /** Minimum delay in ms, as the other side asked; 0 by default. */
  readonly leastMs?: (error: unknown) => number;
  /** Maximum delay in ms; that of `backoff` by default. */
  readonly mostMs?: (error: unknown) => number;
  /** Consecutive failures after which the error is thrown; unlimited by default. */
  readonly attempts?: number;
  /** Longest series of failures before the error is thrown, ms; unlimited by default. 0: none. */
  readonly forMs?: number | undefined;
  /**
   * Called before each delay.
   * @param failures consecutive, from 1; `wait` errors do not count
   */
  readonly onTrouble?: ((error: Error, pauseMs: number, failures: number) => void) | undefined;
};

/** Interval of attempts while an error says `wait`. */
const LOOK_MS = 1_000;

/**
 * Returns the result of the first successful attempt; undefined when `signal` aborts.
 *
 * - `retry`: tries again, with a delay that doubles per consecutive failure.
 * - `wait`: tries again about once a second, without limit.
 * - `stop`: throws.
 *
 * @param attempt calls `progressed` to reset the count of failures
 * @throws the error with remedy `stop`, or the last one after `attempts` or `forMs`
 */
export const retrying = async <T>(
  attempt: (progressed: () => void) => Promise<T>,
  {
    backoff,
    remedy: remedyFor = remedyOf,
    leastMs = () => 0,
    mostMs = () => Number.POSITIVE_INFINITY,
    attempts = Number.POSITIVE_INFINITY,
    forMs = Number.POSITIVE_INFINITY,
    onTrouble,
  }: Retrying,
  signal: AbortSignal,
): Promise<T | undefined> => {
  let failures = 0;
  let failingSince = 0;
  const progressed = () => {
    failures = 0;
  };
  while (!signal.aborted) {
    try {
      return await attempt(progressed);
    } catch (thrown) {
      if (signal.aborted) return undefined;
      const remedy = remedyFor(thrown);
      if (remedy === "stop") throw thrown;
      if (remedy === "retry") failures += 1;
      const now = performance.now();
      if (failures <= 1) failingSince = now;
      const leftMs = failures === 0 ? Number.POSITIVE_INFINITY : failingSince + forMs - now;
      if (failures >= attempts || leftMs <= 0) throw thrown;
      const ownMs = remedy === "wait" ? backoffMs(1, LOOKING) : backoffMs(failures, backoff);
      const boundedMs = Math.max(Math.min(ownMs, mostMs(thrown)), leastMs(thrown));
      const pauseMs = Math.round(Math.min(leftMs, boundedMs));
      onTrouble?.(errorOf(thrown), pauseMs, failures);
      await pause(pauseMs, signal);
    }
  }
  return undefined;
};

const LOOKING: Backoff = { firstMs: LOOK_MS, maxMs: LOOK_MS };
