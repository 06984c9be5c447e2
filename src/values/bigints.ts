/** `Math.min` takes no bigints. */
export const lowest = (first: bigint, ...others: readonly bigint[]): bigint => {
  let low = first;
  for (const number of others) if (number < low) low = number;
  return low;
};

export const highest = (first: bigint, ...others: readonly bigint[]): bigint => {
  let high = first;
  for (const number of others) if (number > high) high = number;
  return high;
};
