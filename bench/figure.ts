/** One line of what `npm run bench` prints. */
export type Figure = {
  /** What was measured, and against what in the same run. */
  readonly name: string;
  /** The figure, with its unit; a ratio where there is something to compare with. */
  readonly reached: string;
  /** What it should be. */
  readonly aim: string;
  /** Sizes, absolute figures, and what limits it. */
  readonly detail: string;
};

/** The value below which this share of the values lies; 0.5 is the median. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

/** Lines of a table whose columns stand below one another; the first column is left-aligned. */
export const columns = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  "),
  );
};
