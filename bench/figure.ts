import { z } from "zod";

/** Units, and how a figure of each depends on the machine: a time grows with its slowness, a rate shrinks, the rest do not. */
export const UNITS = { ratio: 0, MB: 0, ms: 1, s: 1, "%": 1, "/s": -1 } as const;

const unit = z.enum(["ratio", "MB", "ms", "s", "%", "/s"]);
export type Unit = z.infer<typeof unit>;

/** As it is written to `bench/results`. */
export const figureSchema = z.strictObject({
  /** Unique in its bench; runs are compared by it. */
  name: z.string(),
  /** The measurement and its baseline. Figures with the same text share a row of the page, with the same unit and aim. */
  what: z.string(),
  unit,
  /** % is a share of one core. */
  value: z.number(),
  better: z.enum(["more", "less"]),
  /** The least, or the most, that `value` should be; null: none. */
  aim: z.number().nullable(),
  /** The same by round, or by part of the run; empty where there is one. */
  samples: z.array(z.number()).readonly(),
  /** Both sides of a ratio. */
  sides: z.strictObject({ unit, ours: z.number(), baseline: z.number() }).optional(),
  /** Sizes, further figures and limiting factors. */
  detail: z.string().optional(),
});

export type Figure = z.infer<typeof figureSchema>;

/** The `share` quantile; 0.5 is the median. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

type Measured = Pick<Figure, "unit" | "value" | "samples" | "sides">;

/** One measurement. */
export const single = (of: Unit, value: number): Measured => ({ unit: of, value, samples: [] });

const PARTS = 4;

/** Many measurements in order, summed up, such as by a median: all, and each quarter of them. */
export const summedUp = (
  of: Unit,
  values: readonly number[],
  sum: (values: readonly number[]) => number,
): Measured => {
  const size = Math.ceil(values.length / PARTS);
  const parts = Array.from({ length: PARTS }, (_, n) => values.slice(n * size, (n + 1) * size));
  return {
    unit: of,
    value: sum(values),
    samples: parts.filter((part) => part.length > 0).map(sum),
  };
};

/** The ratio of two sides measured in turn: of their medians, and by round. */
export const ratioOf = (
  sides: Unit,
  ours: readonly number[],
  baseline: readonly number[],
): Measured => {
  const [mine, theirs] = [median(ours), median(baseline)];
  return {
    unit: "ratio",
    value: mine / theirs,
    samples: ours.map((one, round) => one / (baseline[round] ?? Number.NaN)),
    sides: { unit: sides, ours: mine, baseline: theirs },
  };
};

const SHOWN = new Intl.NumberFormat("en", {
  ...{ maximumSignificantDigits: 3, maximumFractionDigits: 0 },
  roundingPriority: "morePrecision",
});

const SUFFIX: Readonly<Record<Unit, string>> = {
  ...{ ratio: "", MB: " MB", ms: " ms", s: " s", "%": " %", "/s": "/s" },
};

/** Three digits, or all before the point. */
export const shown = (value: number, of: Unit): string => `${SHOWN.format(value)}${SUFFIX[of]}`;

/** "≥ 0.7", "≤ 15 ms", or nothing. */
export const aimOf = ({
  aim,
  better,
  unit: of,
}: Pick<Figure, "aim" | "better" | "unit">): string =>
  aim === null ? "" : `${better === "more" ? "≥" : "≤"} ${shown(aim, of)}`;

export const isMissed = ({ aim, better, value }: Figure): boolean =>
  aim !== null && (better === "more" ? value < aim : value > aim);

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
