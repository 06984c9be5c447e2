/** Renders metrics in the Prometheus text format. */
import type { Metric } from "./catalogue/describing.ts";
import { findMetric } from "./catalogue.ts";
import type { Series } from "./figures.ts";

/**
 * Sums series with equal labels over all processes; skips series unknown here, which are another
 * version's.
 */
export const exposition = (...processes: readonly (readonly Series[])[]): string => {
  const lines: string[] = [];
  for (const [name, together] of byName(processes.flat())) {
    const described = findMetric(name);
    if (described === undefined) continue;
    lines.push(`# HELP ${name} ${described.about}`, `# TYPE ${name} ${described.type}`);
    for (const series of together.values()) lines.push(...linesOf(described, series));
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
};

const byName = (series: readonly Series[]) => {
  const names = new Map<string, Map<string, Series>>();
  for (const each of series) {
    const ofName = names.get(each.name) ?? new Map<string, Series>();
    names.set(each.name, ofName);
    const key = each.labels.join("\n");
    const before = ofName.get(key);
    ofName.set(key, before === undefined ? each : sumOf(before, each));
  }
  return names;
};

const sumOf = (one: Series, other: Series): Series => ({
  ...one,
  values: one.values.map((value, at) => value + (other.values[at] ?? 0)),
});

const linesOf = (described: Metric, { name, labels, values }: Series): readonly string[] => {
  const { labels: names, buckets } = described;
  const pairs = names.map((label, at) => `${label}="${escaped(labels[at] ?? "")}"`);
  const line = (suffix: string, value: number, more: readonly string[] = []) => {
    const all = [...pairs, ...more];
    return `${name}${suffix}${all.length === 0 ? "" : `{${all.join(",")}}`} ${value}`;
  };
  if (described.type !== "histogram") return [line("", values[0] ?? 0)];
  let count = 0;
  const counted = [...buckets.map(String), "+Inf"].map((bound, at) => {
    count += values[at] ?? 0;
    return line("_bucket", count, [`le="${bound}"`]);
  });
  return [...counted, line("_sum", values[buckets.length + 1] ?? 0), line("_count", count)];
};

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
