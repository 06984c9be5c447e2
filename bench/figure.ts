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

export const columns = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  "),
  );
};
