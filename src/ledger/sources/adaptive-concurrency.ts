import { pause } from "../../waiting/backoff.ts";

/**
 * Finds the best number of concurrent requests (AIMD).
 *
 * The limit doubles while throughput rises. After the first step without gain, or push-back, it
 * grows by one, steps back without gain, and rests before trying again. Push-back (429, 5xx,
 * timeouts) halves it.
 */
export type AdaptiveConcurrency = {
  /** Current limit: a whole number between `min` and `max`. */
  readonly limit: number;
  /** Waits for the end of a `Retry-After`, or until `signal` aborts. */
  cleared(signal: AbortSignal): Promise<void>;
  /** Call when a request starts; end the attempt exactly once. */
  begin(): Attempt;
};

export type Attempt = {
  /** Bytes received; 0 for an answer such as "not there yet". */
  succeeded(bytes: number): void;
  /** The other side is overloaded; `pauseMs` applies to all requests. */
  pushedBack(pauseMs?: number): void;
  /** Ended for a reason unrelated to load. */
  ended(): void;
};

/** Whole numbers, 1 or more; `min` <= `start` <= `max`. */
export type ConcurrencyBounds = {
  readonly min: number;
  readonly max: number;
  readonly start: number;
};

/** Minimum duration of an epoch, over which throughput is measured, in ms. */
const EPOCH_MS = 250;
/** Minimum requests of an epoch, against outliers. */
const EPOCH_REQUESTS = 8;
/** Factor of throughput that counts as a gain. */
const IMPROVEMENT = 1.05;
/** Epochs to rest after a failed step or push-back. */
const REST_EPOCHS = 12;
/** Value of a request besides its bytes: small answers are limited by latency. */
const REQUEST_WORTH_BYTES = 4096;

/**
 * @param now monotonic milliseconds; replaced by tests
 * @throws RangeError on inconsistent bounds
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
  /** Incremented by every cut; ignores push-back of older attempts. */
  let generation = 0;
  let pausedUntil = 0;

  /** Throughput before the step on trial, bytes per ms; 0: none. */
  let baseline = 0;
  /** Step on trial in this epoch; 0: none. */
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
      // No gain: more requests would only queue.
      limit = Math.max(min, limit - trial);
      trial = 0;
      doubling = false;
      rest = REST_EPOCHS;
    }
  };

  const endEpochWhenDue = () => {
    const elapsedMs = now() - epoch.startedAt;
    if (elapsedMs < EPOCH_MS || epoch.requests < EPOCH_REQUESTS) return;
    // Below the limit, the consumer or the tip sets the pace.
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
