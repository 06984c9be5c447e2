/**
 * Finds the newest checkpoint of a store that can only tell whether it has a given one.
 *
 * Exponential, then binary search from `from`: about 2·log2(distance) requests. Assumes that the
 * store is filled in order; with concurrent writers the result may be a little low.
 *
 * @param from start; null when it is not there
 */
export const newestPresent = async (
  isThere: (sequence: bigint) => Promise<boolean>,
  from: bigint,
): Promise<bigint | null> => {
  if (!(await isThere(from))) return null;
  let there = from;
  let stride = 1n;
  while (await isThere(there + stride)) {
    there += stride;
    stride *= 2n;
  }
  let absent = there + stride;
  while (absent - there > 1n) {
    const middle = (there + absent) / 2n;
    if (await isThere(middle)) there = middle;
    else absent = middle;
  }
  return there;
};
