/** Times and durations in seconds. */

/** A checkpoint's time, rounded down. */
export const unixSeconds = (timestampMs: bigint): bigint => timestampMs / 1000n;

/** Whole seconds from a checkpoint's time to now; never negative, though clocks differ. */
export const ageSeconds = (timestampMs: bigint, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - Number(timestampMs)) / 1000));

/** `3d 4h`, `12m 5s`, `8s` */
export const duration = (seconds: number): string => {
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return "0s";
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
};
