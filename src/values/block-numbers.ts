/** The lowest of block numbers (`Math.min` does not take bigints). */
export const lowest = (first: bigint, ...others: readonly bigint[]): bigint => {
  let low = first;
  for (const number of others) if (number < low) low = number;
  return low;
};

/** The highest of block numbers. */
export const highest = (first: bigint, ...others: readonly bigint[]): bigint => {
  let high = first;
  for (const number of others) if (number > high) high = number;
  return high;
};
