import { createWaker } from "./waker.ts";

/** Delay between attempts: doubles from `firstMs` up to `maxMs`. */
export type Backoff = { readonly firstMs: number; readonly maxMs: number };

/**
 * Delay in ms before attempt `failures + 1`, without jitter.
 * @param failures consecutive failures, from 1
 */
export const fullBackoffMs = (failures: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));

/**
 * Delay in ms before attempt `failures + 1`; half of it is random, so that clients do not retry in
 * step.
 * @param failures consecutive failures, from 1
 */
export const backoffMs = (failures: number, backoff: Backoff): number =>
  fullBackoffMs(failures, backoff) * (0.5 + Math.random() / 2);

/** Waits `ms` milliseconds, or until `signal` aborts. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => {
  const { mark, since } = createWaker();
  return since(mark(), ms, signal);
};
