/** The lowest of block numbers (`Math.min` does not take bigints). */
export const lowest = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((low, number) => (number < low ? number : low), first);

/** The highest of block numbers. */
export const highest = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((high, number) => (number > high ? number : high), first);
