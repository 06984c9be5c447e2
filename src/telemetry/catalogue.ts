/**
 * Every metric of `/metrics`: metrics, `docs/reference/metrics.md` and the dashboard are made from
 * this list.
 *
 * Labels are few and bounded: names from code and settings, or words listed here; never an address,
 * a key or anything from a caller.
 */
import type { Metric, MetricType } from "./catalogue/describing.ts";
import { LEDGERS } from "./catalogue/ledgers.ts";
import { SERVING } from "./catalogue/serving.ts";

/** Parts in the order of the documentation. */
export const CATALOGUE = { ...LEDGERS, ...SERVING } as const;

type Catalogue = typeof CATALOGUE;
export type Part = keyof Catalogue;

type Metrics = {
  [Name in NamesOf<Catalogue[Part]>]: Extract<Catalogue[Part], Record<Name, Metric>>[Name];
};
type NamesOf<Each> = Each extends unknown ? keyof Each : never;

export type MetricName = keyof Metrics & string;

type OfType<Type extends MetricType> = {
  [Name in MetricName]: Metrics[Name] extends { type: Type } ? Name : never;
}[MetricName];
export type CounterName = OfType<"counter">;
export type GaugeName = OfType<"gauge">;
export type HistogramName = OfType<"histogram">;

/** Label values of a metric. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Metrics[Name]["labels"][number], string>
>;

const metrics: ReadonlyMap<string, Metric> = new Map(
  Object.values(CATALOGUE).flatMap((part): [string, Metric][] => Object.entries(part)),
);

/** All names, in catalogue order. */
export const METRIC_NAMES: readonly string[] = [...metrics.keys()];

/** Describes a metric; undefined when unknown. */
export const findMetric = (name: string): Metric | undefined => metrics.get(name);

export const metric = (name: MetricName): Metric => {
  const found = metrics.get(name);
  if (found === undefined) throw new Error(`${name} is not in the catalogue of metrics`);
  return found;
};
