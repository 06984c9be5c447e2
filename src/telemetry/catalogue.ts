/**
 * Every figure that `/metrics` can show: one list, from which the figures are made, `docs/reference/metrics.md` is
 * printed and the dashboard is drawn. A figure that is not here cannot be counted, shown or alarmed on.
 *
 * Labels are few and bounded: names of pipelines, assets, projects, chains and endpoints come from the code
 * and the settings, everything else is one of the words that are named here. None holds an address, a key
 * or anything of a caller.
 */
import type { Metric, MetricType } from "./catalogue/describing.ts";
import { LEDGERS } from "./catalogue/ledgers.ts";
import { SERVING } from "./catalogue/serving.ts";

/** In the order of the documentation, by part. */
export const CATALOGUE = { ...LEDGERS, ...SERVING } as const;

type Catalogue = typeof CATALOGUE;
export type Part = keyof Catalogue;

/** All metrics by name. */
type Metrics = {
  [Name in NamesOf<Catalogue[Part]>]: Extract<Catalogue[Part], Record<Name, Metric>>[Name];
};
type NamesOf<Each> = Each extends unknown ? keyof Each : never;

export type MetricName = keyof Metrics & string;

/** Names of one type. */
type OfType<Type extends MetricType> = {
  [Name in MetricName]: Metrics[Name] extends { type: Type } ? Name : never;
}[MetricName];
export type CounterName = OfType<"counter">;
export type GaugeName = OfType<"gauge">;
export type HistogramName = OfType<"histogram">;

/** The labels of a metric, each with its value. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Metrics[Name]["labels"][number], string>
>;

const metrics: ReadonlyMap<string, Metric> = new Map(
  Object.values(CATALOGUE).flatMap((part): [string, Metric][] => Object.entries(part)),
);

/** Every name, in the order of the catalogue. */
export const METRIC_NAMES: readonly string[] = [...metrics.keys()];

/** What the catalogue says of a name; undefined for one that it does not have. */
export const findMetric = (name: string): Metric | undefined => metrics.get(name);

/** What the catalogue says of a name. */
export const metric = (name: MetricName): Metric => {
  const found = metrics.get(name);
  if (found === undefined) throw new Error(`${name} is not in the catalogue of metrics`);
  return found;
};
