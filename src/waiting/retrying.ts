/** The one loop around work that may fail: what an error's remedy says is done here and nowhere else. */
import { type Backoff, backoffMs, pause } from "./backoff.ts";
import { errorOf, type Remedy, remedyOf } from "./remedy.ts";

export type Retrying = {
  /** Pauses between attempts, jittered: `firstMs` doubling up to `maxMs`. */
  readonly backoff: Backoff;
  /** What to do about an error; `remedyOf` unless given. */
  readonly remedy?: (error: unknown) => Remedy;
  /** The shortest pause after an error, milliseconds: what the other side asked for; 0 unless given. */
  readonly leastMs?: (error: unknown) => number;
  /** The longest pause after an error, milliseconds; that of `backoff` unless given. */
  readonly mostMs?: (error: unknown) => number;
  /** Failures in a row after which the last error is thrown although it may pass; no end unless given. */
  readonly attempts?: number;
  /**
   * Milliseconds of failures in a row after which the last error is thrown although it may pass; no end
   * unless given. 0: the first failure is the last.
   */
  readonly forMs?: number | undefined;
  /**
   * Told of every failure that is not the last, before the pause.
   *
   * @param pauseMs whole milliseconds
   * @param failures in a row, from 1; the world that is waited for counts as none
   */
  readonly onTrouble?: ((error: Error, pauseMs: number, failures: number) => void) | undefined;
};

/** How often the world is looked at while an error says `wait`. */
const LOOK_MS = 1_000;

/**
 * Attempts until one returns, and returns what it returned; undefined when `signal` aborts, also while
 * an attempt fails because of that.
 *
 * - `retry` begins again after a pause that doubles with every failure in a row.
 * - `wait` begins again about once a second and never gives up: nothing is broken, only a change elsewhere
 *   helps.
 * - `stop` throws the error.
 *
 * @param attempt does the work; it calls `progressed` when it got somewhere, so that the next failure
 *   counts as the first
 * @throws the error whose remedy is `stop`, or the last one after `attempts` or `forMs`
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
