/**
 * Request size and concurrency of one endpoint, shared by all requests to it: less after a refusal,
 * nothing during a pause that it asked for, then slowly more again.
 */
import { pause } from "../../waiting/backoff.ts";
import { createWaker } from "../../waiting/waker.ts";

/** Longest honoured `Retry-After`. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

/** The pause that an endpoint asked for, bounded, with jitter so that processes do not return together. */
export const askedPauseMs = (retryAfterMs: number, jitterMs: number): number =>
  Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + Math.random() * jitterMs;

/** Most rate limits are counted by the second. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

const JITTER_MS = 100;

/** Concurrent requests to one endpoint; more than the reader needs. */
const MOST_LANES = 32;

/** Answered requests before size or concurrency grows. */
const GROW_AFTER = 10;

export const openPace = (batchCalls: number) => {
  let most = batchCalls;
  let size = batchCalls;
  let lanes = MOST_LANES;
  let underWay = 0;
  const ended = createWaker();
  /** Since the last refusal; only full-sized requests can make the size grow. */
  let answers = 0;
  let full = 0;
  let limitedAt = Number.NEGATIVE_INFINITY;
  let pausedUntil = 0;

  return {
    /** Calls in one HTTP request now, at least 1. */
    size: () => size,
    /**
     * Sends a request once the endpoint may be asked.
     * @param send gets `performance.now()` of its start
     * @param onRest gets the milliseconds left before a pause is waited out; may throw instead
     * @throws the reason of `signal`
     */
    turn: async <T>(
      send: (began: number) => Promise<T>,
      signal: AbortSignal,
      onRest?: (ms: number) => void,
    ): Promise<T> => {
      for (;;) {
        signal.throwIfAborted();
        const wait = pausedUntil - performance.now();
        if (wait > 0) {
          onRest?.(wait);
          await pause(wait, signal);
        } else if (underWay < lanes) break;
        else await ended.since(ended.mark(), undefined, signal);
      }
      underWay += 1;
      try {
        return await send(performance.now());
      } finally {
        underWay -= 1;
        ended.wake();
      }
    },
    /** A request of `calls` calls, begun at `began`, was answered. */
    answered: (began: number, calls: number) => {
      // In progress when another one was refused: proves nothing about now.
      if (began < limitedAt) return;
      answers += 1;
      if (answers % GROW_AFTER === 0) lanes = Math.min(MOST_LANES, lanes + 1);
      if (calls < size) return;
      full += 1;
      if (full % GROW_AFTER === 0) size = Math.min(most, size + Math.ceil(size / 4));
    },
    /**
     * A request, begun at `began`, hit the rate limit.
     * @returns false if it was in progress when another one was refused: that is the same refusal
     */
    limited: (began: number, retryAfterMs = DEFAULT_RETRY_AFTER_MS) => {
      const now = performance.now();
      pausedUntil = Math.max(pausedUntil, now + askedPauseMs(retryAfterMs, JITTER_MS));
      if (began < limitedAt) return false;
      // Keep a size that worked until its budget was used up. Halve it if nothing was answered since
      // the last refusal, or with full concurrency.
      if (answers === 0 || lanes === MOST_LANES) size = Math.max(1, Math.floor(size / 2));
      lanes = 1;
      answers = 0;
      full = 0;
      limitedAt = now;
      return true;
    },
    /** A request had too many calls: permanently, or for now. */
    tooMany: (calls: number, forGood: boolean) => {
      size = Math.max(1, Math.min(size, Math.floor(calls / 2)));
      if (forGood) most = size;
      full = 0;
    },
  };
};
