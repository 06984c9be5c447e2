import { createWaker } from "./waker.ts";

/** How long to wait between attempts: doubling from `firstMs`, never above `maxMs`. */
export type Backoff = { readonly firstMs: number; readonly maxMs: number };

/**
 * The longest wait before attempt `failures + 1`, milliseconds, without jitter: for what is alone, such as
 * a process that is started again.
 *
 * @param failures attempts that failed so far in a row, from 1
 */
export const fullBackoffMs = (failures: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));

/**
 * Wait before attempt `failures + 1`, milliseconds. Half of it is random, so that clients that failed
 * together do not come back together.
 *
 * @param failures attempts that failed so far in a row, from 1
 */
export const backoffMs = (failures: number, backoff: Backoff): number =>
  fullBackoffMs(failures, backoff) * (0.5 + Math.random() / 2);

/** Waits `ms` milliseconds; returns early, and quietly, when `signal` aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => {
  const { mark, since } = createWaker();
  return since(mark(), ms, signal);
};
