/** The one loop around work that may fail: what an error's remedy says is done here and nowhere else. */
import { type Backoff, backoffMs, pause } from "./backoff.ts";
import { type Remedy, remedyOf } from "./remedy.ts";

export type Retrying = {
  /** Pauses between attempts, jittered: `firstMs` doubling up to `maxMs`. */
  readonly backoff: Backoff;
  /** What to do about an error; `remedyOf` unless given. */
  readonly remedy?: (error: unknown) => Remedy;
  /** Told of every failure that is not the last, before the pause. */
  readonly onTrouble?: (error: Error, pauseMs: number, remedy: "retry" | "wait") => void;
};

/**
 * Attempts until one returns, and returns what it returned; undefined when `signal` aborts, also while
 * an attempt fails because of that.
 *
 * `retry` begins again after a pause that doubles with every failure in a row; `wait` begins again after
 * the longest pause at once, because only a change elsewhere helps and asking sooner does not bring it.
 *
 * @param attempt does the work; it calls `progressed` when it got somewhere, so that the next failure
 *   counts as the first
 * @throws the error whose remedy is `stop`
 */
export const retrying = async <T>(
  attempt: (progressed: () => void) => Promise<T>,
  { backoff, remedy: remedyFor = remedyOf, onTrouble }: Retrying,
  signal: AbortSignal,
): Promise<T | undefined> => {
  let failures = 0;
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
      failures += 1;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const pauseMs = backoffMs(failures, remedy === "wait" ? calm(backoff) : backoff);
      onTrouble?.(error, pauseMs, remedy);
      await pause(pauseMs, signal);
    }
  }
  return undefined;
};

const calm = ({ maxMs }: Backoff): Backoff => ({ firstMs: maxMs, maxMs });
