/**
 * How many edits make one text of another: a letter typed, left out, changed, or swapped with its
 * neighbour.
 *
 * @param most texts that are further apart count as `most + 1`, whose exact distance is not needed
 */
export const distance = (from: string, to: string, most: number): number => {
  if (Math.abs(from.length - to.length) > most) return most + 1;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
          ? (beforeLast[j - 2] ?? 0) + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(changed, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(last[to.length] ?? 0, most + 1);
};
