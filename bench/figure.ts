export type Figure = {
  /** The measurement and its baseline. */
  readonly name: string;
  /** With unit; a ratio if there is a baseline. */
  readonly reached: string;
  readonly aim: string;
  /** Sizes, absolute figures and limiting factors. */
  readonly detail: string;
};

/** The `share` quantile; 0.5 is the median. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const columns = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  "),
  );
};

/**
 * Measures each side once to warm up, then `rounds` times in turn, so that other load affects all.
 * @returns the counted rounds, by side
 */
export const inTurn = async <Round>(
  rounds: number,
  sides: readonly ((isWarmUp: boolean) => Promise<Round>)[],
): Promise<readonly (readonly Round[])[]> => {
  const counted = sides.map(() => Array.of<Round>());
  for (let round = 0; round <= rounds; round += 1) {
    for (const [n, measure] of sides.entries()) {
      const measured = await measure(round === 0);
      if (round > 0) counted[n]?.push(measured);
    }
  }
  return counted;
};
