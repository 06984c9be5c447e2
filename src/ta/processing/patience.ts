/**
 * Waiting inside a worker. Most conditions hold after a moment, and checking again at once is fastest. A
 * waiting lane keeps a worker from others, so it waits for a short time and in some of the workers only;
 * after that the lane is left and checked later.
 */
import { pause } from "../../waiting/backoff.ts";

/** Waits on the spot, where that is allowed. */
export type Patience = {
  /** Looks until it holds; false when `over` aborted first, or it is not to be waited for here. */
  until(holds: () => Promise<boolean>, over: AbortSignal): Promise<boolean>;
};

/** Looks once: for what has been waited for before. */
export const NO_PATIENCE: Patience = { until: (holds) => holds() };

/** The patience of a process. */
export const patience = (settings: {
  /** How many may wait at a time. */
  readonly places: number;
  readonly holdMs: number;
  readonly lookMs: number;
}): Patience => {
  const { places, holdMs, lookMs } = settings;
  let waiting = 0;
  return {
    until: async (holds, over) => {
      if (await holds()) return true;
      if (waiting >= places) return false;
      waiting += 1;
      try {
        const signal = AbortSignal.any([over, AbortSignal.timeout(holdMs)]);
        for (;;) {
          await pause(lookMs, signal);
          if (signal.aborted) return false;
          if (await holds()) return true;
        }
      } finally {
        waiting -= 1;
      }
    },
  };
};

/** Waits on the spot until it holds; false when it does not in the time that is for that. */
export const waitFor = (
  { patience, turnOver }: { readonly patience: Patience; readonly turnOver: AbortSignal },
  holds: () => Promise<boolean>,
): Promise<boolean> => patience.until(holds, turnOver);
