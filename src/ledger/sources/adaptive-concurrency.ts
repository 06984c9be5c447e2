import { pause } from "../../waiting/backoff.ts";

/**
 * How many requests to have under way at once, found out while they run (AIMD).
 *
 * The limit doubles while that raises the throughput; after the first step that does not, or the
 * first push-back, it grows by one request at a time, steps back when a step brought nothing, and
 * rests before it tries again. Push-back (429, 5xx, timeouts) halves it at once.
 */
export type AdaptiveConcurrency = {
  /** Requests that may be under way at once now; a whole number between `min` and `max`. */
  readonly limit: number;
  /** Resolves when no `Retry-After` asks to wait any longer, or when `signal` aborts. */
  cleared(signal: AbortSignal): Promise<void>;
  /** Call when a request starts; end the attempt exactly once. */
  begin(): Attempt;
};

/** One request under way. */
export type Attempt = {
  /** It brought this many bytes; none for an answer such as "not there yet". */
  succeeded(bytes: number): void;
  /** The other side asked for less; `pauseMs` is how long it asked every request to wait. */
  pushedBack(pauseMs?: number): void;
  /** It ended for a reason that says nothing about load. */
  ended(): void;
};

/** Whole numbers, 1 or more; `start` lies between `min` and `max`. */
export type ConcurrencyBounds = {
  readonly min: number;
  readonly max: number;
  readonly start: number;
};

/** An epoch, the time over which throughput is measured, lasts at least this long, milliseconds. */
const EPOCH_MS = 250;
/** And at least this many requests, so that one slow answer does not decide. */
const EPOCH_REQUESTS = 8;
/** A step must raise the throughput by this factor to count as an improvement. */
const IMPROVEMENT = 1.05;
/** Epochs to rest after a step that brought nothing, or after push-back. */
const REST_EPOCHS = 12;
/** What one request is worth besides its bytes: small answers are bound by latency, not bandwidth. */
const REQUEST_WORTH_BYTES = 4096;

/**
 * @param now milliseconds from any fixed point; replaced by tests
 * @throws RangeError when the bounds contradict each other
 */
export const createAdaptiveConcurrency = (
  { min, max, start }: ConcurrencyBounds,
  now: () => number = () => performance.now(),
): AdaptiveConcurrency => {
  if (!(Number.isInteger(start) && min >= 1 && min <= start && start <= max)) {
    throw new RangeError(
      `concurrency bounds must satisfy 1 <= min <= start <= max, not ${min}, ${start}, ${max}`,
    );
  }
  let limit = start;
  let underWay = 0;
  /** Rises with every cut: attempts begun before it say nothing about the limit after it. */
  let generation = 0;
  let pausedUntil = 0;

  /** Throughput before the step that is on trial, bytes' worth per millisecond; 0: none measured. */
  let baseline = 0;
  /** The last step, on trial during this epoch; 0 when only measuring. */
  let trial = 0;
  let doubling = true;
  let rest = 0;
  let epoch = { startedAt: now(), requests: 0, worth: 0, saturated: false };

  const beginEpoch = () => {
    epoch = { startedAt: now(), requests: 0, worth: 0, saturated: underWay >= limit };
  };

  const step = () => {
    trial = Math.min(doubling ? limit : 1, max - limit);
    limit += trial;
  };

  const judge = (rate: number) => {
    if (rest > 0) {
      rest -= 1;
      baseline = rate;
    } else if (trial === 0 || rate >= baseline * IMPROVEMENT) {
      baseline = rate;
      step();
    } else {
      // The step brought nothing: more requests would only wait on the other side.
      limit = Math.max(min, limit - trial);
      trial = 0;
      doubling = false;
      rest = REST_EPOCHS;
    }
  };

  const endEpochWhenDue = () => {
    const elapsedMs = now() - epoch.startedAt;
    if (elapsedMs < EPOCH_MS || epoch.requests < EPOCH_REQUESTS) return;
    // When fewer requests ran than allowed, the consumer or the tip set the pace, not the limit.
    if (epoch.saturated) judge(epoch.worth / elapsedMs);
    beginEpoch();
  };

  const cut = () => {
    generation += 1;
    limit = Math.max(min, Math.floor(limit / 2));
    trial = 0;
    doubling = false;
    rest = REST_EPOCHS;
    beginEpoch();
  };

  return {
    get limit() {
      return limit;
    },
    cleared: async (signal) => {
      for (
        let left = pausedUntil - now();
        left > 0 && !signal.aborted;
        left = pausedUntil - now()
      ) {
        await pause(left, signal);
      }
    },
    begin: () => {
      const begunIn = generation;
      let open = true;
      underWay += 1;
      if (underWay >= limit) epoch.saturated = true;
      const end = () => {
        if (!open) throw new Error("an attempt was ended twice");
        open = false;
        underWay -= 1;
      };
      return {
        succeeded: (bytes) => {
          end();
          epoch.requests += 1;
          epoch.worth += bytes + REQUEST_WORTH_BYTES;
          endEpochWhenDue();
        },
        pushedBack: (pauseMs = 0) => {
          end();
          pausedUntil = Math.max(pausedUntil, now() + pauseMs);
          if (begunIn === generation) cut();
        },
        ended: end,
      };
    },
  };
};
