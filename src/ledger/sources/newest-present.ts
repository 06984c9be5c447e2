/**
 * Finds the newest checkpoint of a place that can only say whether it has a given one.
 *
 * Starting at a checkpoint known (or believed) to be there, it looks 1, 2, 4, 8, … further until
 * something is absent, then halves the interval: about 2·log2(distance) questions, some sixty from
 * genesis to the tip of mainnet and a handful when asked again soon. It relies on the place being
 * filled in order; while several writers finish out of order the answer may be a little too low.
 *
 * @param from where to start; when it is not there, the answer is null
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
