/** A run beside the one before. */
import { aimOf, columns, type Figure, isMissed, shown, UNITS } from "./figure.ts";
import type { Run } from "./results.ts";

/** What two runs of the same code differ by, at least, as a share of the value. */
const NOISE = 0.05;

export type Verdict = "better" | "worse" | "same" | "new";

/** From the least sample to the largest, and at least the noise to either side of the value. */
const spreadOf = ({ value, samples }: Figure, factor: number) => {
  const all = [...samples, value * (1 - NOISE), value * (1 + NOISE)].map((each) => each * factor);
  return { least: Math.min(...all), most: Math.max(...all) };
};

/**
 * Better or worse only where the spreads of the two do not meet. A time or a rate of before counts as it would be at the
 * machine's speed of now.
 */
export const verdict = (now: Figure, before: Figure | undefined, slowdown: number): Verdict => {
  if (before === undefined || before.unit !== now.unit) return "new";
  const [is, was] = [spreadOf(now, 1), spreadOf(before, slowdown ** UNITS[now.unit])];
  if (is.least <= was.most && was.least <= is.most) return "same";
  return is.least > was.most === (now.better === "more") ? "better" : "worse";
};

/** A table of the run's figures, and their details. */
export const report = (bench: string, run: Run, before: Run | undefined): string => {
  const slowdown = run.machineMs / (before?.machineMs ?? run.machineMs);
  const rows = run.figures.map((figure) => {
    const earlier = before?.figures.find(({ name }) => name === figure.name);
    const was = earlier && shown(earlier.value * slowdown ** UNITS[earlier.unit], earlier.unit);
    return [
      figure.name,
      `${shown(figure.value, figure.unit)}${isMissed(figure) ? " (missed)" : ""}`,
      aimOf(figure),
      was ?? "",
      verdict(figure, earlier, slowdown),
    ];
  });
  const then =
    before === undefined
      ? "no run before"
      : `before: ${before.at} at ${before.commit}, load ${before.load}, times and rates as at ${run.machineMs} ms instead of ${before.machineMs} ms for the same work`;
  return [
    `${bench}: ${run.seconds} s, load ${run.load}, ${then}`,
    ...columns([["figure", "now", "aim", "before", ""], ...rows]),
    ...run.figures.flatMap(({ name, detail, sides }) => {
      const both =
        sides && `${shown(sides.ours, sides.unit)} / ${shown(sides.baseline, sides.unit)}`;
      const said = [both, detail].filter((part) => part !== undefined).join("; ");
      return said === "" ? [] : [`${name}: ${said}`];
    }),
  ].join("\n  ");
};
