import { setTimeout as timer } from "node:timers/promises";

/** How long to wait between attempts: doubling from `firstMs`, never above `maxMs`. */
export type Backoff = { readonly firstMs: number; readonly maxMs: number };

/**
 * Wait before attempt `failures + 1`, milliseconds. Half of it is random, so that clients that failed
 * together do not come back together.
 *
 * @param failures attempts that failed so far in a row, from 1
 */
export const backoffMs = (failures: number, { firstMs, maxMs }: Backoff): number => {
  const whole = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return whole / 2 + (Math.random() * whole) / 2;
};

/** Waits `ms` milliseconds; returns early, and quietly, when `signal` aborts. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await timer(Math.max(0, ms), undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
