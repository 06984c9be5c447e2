/** PromQL over the catalogue of metrics: a name or label that does not exist does not compile. */
import type {
  CounterName,
  GaugeName,
  HistogramName,
  LabelsOf,
  MetricName,
} from "../../src/telemetry/catalogue.ts";

/** A PromQL expression. */
export type Expression = string;

type LabelOf<Name extends MetricName> = keyof LabelsOf<Name> & string;

/** Wanted label values, as regular expressions. */
type Wanted<Name extends MetricName> = Partial<LabelsOf<Name>>;

/** The range that rates are averaged over; Grafana sets it. */
const RANGE = "$__rate_interval";

const selected = (
  name: string,
  wanted: Readonly<Record<string, string | undefined>>,
): Expression => {
  const matchers = Object.entries(wanted).map(([label, value]) => `${label}=~"${value}"`);
  return `${name}{${['job=~"$job"', ...matchers].join(",")}}`;
};

const by = (labels: readonly string[]): string =>
  labels.length === 0 ? "" : ` by (${labels.join(", ")})`;

/** The largest value: for a gauge that is the same in every process, or whose worst value counts. */
export const largest = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `max${by(labels)} (${selected(name, wanted)})`;

/** The smallest value: for a gauge that is 1 while healthy. */
export const smallest = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `min${by(labels)} (${selected(name, {})})`;

/** The sum over processes: for a gauge that each process has of its own. */
export const total = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (${selected(name, wanted)})`;

/** Rate of a counter, summed over all processes. */
export const perSecond = <Name extends CounterName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (rate(${selected(name, wanted)}[${RANGE}]))`;

/** Rate of a counter that is the same in every process. */
export const perSecondOfOne = <Name extends CounterName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `max${by(labels)} (rate(${selected(name, {})}[${RANGE}]))`;

/** Observations of a histogram per second. */
export const valuesPerSecond = <Name extends HistogramName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (rate(${selected(`${name}_count`, wanted)}[${RANGE}]))`;

/** Rate of the sum of a histogram's values. */
export const sumPerSecond = <Name extends HistogramName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `sum${by(labels)} (rate(${selected(`${name}_sum`, {})}[${RANGE}]))`;

/** Rate of a gauge that only rises while its process lives. */
export const risePerSecond = (name: GaugeName): Expression =>
  `sum (rate(${selected(name, {})}[${RANGE}]))`;

/** A quantile of a histogram's values. */
export const quantile = <Name extends HistogramName>(
  share: number,
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression =>
  `histogram_quantile(${share}, sum by (${["le", ...labels].join(", ")}) (rate(${selected(`${name}_bucket`, {})}[${RANGE}])))`;

/** Mean of a histogram's values. */
export const mean = <Name extends HistogramName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => {
  const of = (part: string) =>
    `sum${by(labels)} (rate(${selected(`${name}_${part}`, {})}[${RANGE}]))`;
  return `${of("sum")} / ${of("count")}`;
};
