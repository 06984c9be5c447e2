/**
 * How much is asked of an endpoint at once: less after it refused as much, nothing while it asked to be
 * left alone, and slowly more again. One for all that is under way at an endpoint.
 */
import { pause } from "../../waiting/backoff.ts";
import { createWaker } from "../../waiting/waker.ts";

export type Pace = {
  /** Calls in one HTTP request now, at least 1. */
  size(): number;
  /**
   * Sends a request once the endpoint may be asked.
   * @param send is given `performance.now()` of its beginning
   * @param onRest told how many milliseconds the endpoint is still to be left alone, before that is waited
   *   for; what it throws ends the turn
   * @throws the reason of `signal`
   */
  turn<T>(
    send: (began: number) => Promise<T>,
    signal: AbortSignal,
    onRest?: (ms: number) => void,
  ): Promise<T>;
  /** A request of so many calls that began then was answered. */
  answered(began: number, calls: number): void;
  /**
   * A request that began then was refused because there were too many.
   * @param retryAfterMs as the endpoint asked; undefined when it did not say
   * @returns false for one that was under way when another was refused: that is the same refusal
   */
  limited(began: number, retryAfterMs: number | undefined): boolean;
  /** So many calls in one request were too many: for good, or for what is known for now. */
  tooMany(calls: number, forGood: boolean): void;
};

/** Longest that an endpoint's own `Retry-After` is honoured. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

/**
 * How long to leave an endpoint alone that asked for it, milliseconds. Part of it is random, so that
 * processes that were refused together do not come back together.
 */
export const askedPauseMs = (retryAfterMs: number, jitterMs: number): number =>
  Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + Math.random() * jitterMs;

/** Budgets of calls are counted by the second, where an endpoint does not say otherwise. */
const UNSAID_RETRY_AFTER_MS = 1_000;

const JITTER_MS = 100;

/** Requests under way at one endpoint: more than the reader ever has at once. */
const MOST_LANES = 32;

/** Answered requests after which more is tried. */
const GROW_AFTER = 10;

export const openPace = (batchCalls: number): Pace => {
  let most = batchCalls;
  let size = batchCalls;
  let lanes = MOST_LANES;
  let underWay = 0;
  const ended = createWaker();
  /** Since something was refused last; those of the full size say something about a larger one. */
  let answers = 0;
  let full = 0;
  let limitedAt = Number.NEGATIVE_INFINITY;
  let pausedUntil = 0;

  return {
    size: () => size,
    turn: async (send, signal, onRest) => {
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
    answered: (began, calls) => {
      // What was under way when another was refused says nothing about the time since.
      if (began < limitedAt) return;
      answers += 1;
      if (answers % GROW_AFTER === 0) lanes = Math.min(MOST_LANES, lanes + 1);
      if (calls < size) return;
      full += 1;
      if (full % GROW_AFTER === 0) size = Math.min(most, size + Math.ceil(size / 4));
    },
    limited: (began, retryAfterMs = UNSAID_RETRY_AFTER_MS) => {
      const now = performance.now();
      pausedUntil = Math.max(pausedUntil, now + askedPauseMs(retryAfterMs, JITTER_MS));
      if (began < limitedAt) return false;
      // Keep the size when a working budget was used up. Halve it when nothing was answered since the last
      // refusal, or when all lanes were open.
      if (answers === 0 || lanes === MOST_LANES) size = Math.max(1, Math.floor(size / 2));
      lanes = 1;
      answers = 0;
      full = 0;
      limitedAt = now;
      return true;
    },
    tooMany: (calls, forGood) => {
      size = Math.max(1, Math.min(size, Math.floor(calls / 2)));
      if (forGood) most = size;
      full = 0;
    },
  };
};
