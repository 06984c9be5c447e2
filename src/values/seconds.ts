/** A checkpoint's time, in milliseconds of Unix time, as seconds. */

/** Rounded down. */
export const unixSeconds = (timestampMs: bigint): bigint => timestampMs / 1000n;

/** Whole seconds from a checkpoint's time to now; never negative, though clocks differ. */
export const ageSeconds = (timestampMs: bigint, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - Number(timestampMs)) / 1000));
