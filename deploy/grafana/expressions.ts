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

/** Values of labels that are wanted, as regular expressions. */
type Wanted<Name extends MetricName> = Partial<LabelsOf<Name>>;

/** Over which the panels' rates are averaged: Grafana sets it. */
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

/** Of a figure that every process says alike, or of which the worst counts: the largest. */
export const largest = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `max${by(labels)} (${selected(name, wanted)})`;

/** The smallest: of what is 1 while all is well. */
export const smallest = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `min${by(labels)} (${selected(name, {})})`;

/** Of a figure that each process has of its own: all together. */
export const total = <Name extends GaugeName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (${selected(name, wanted)})`;

/** How much a counter rises in a second, in all processes together. */
export const perSecond = <Name extends CounterName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (rate(${selected(name, wanted)}[${RANGE}]))`;

/** The same of a counter that every process says alike. */
export const perSecondOfOne = <Name extends CounterName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `max${by(labels)} (rate(${selected(name, {})}[${RANGE}]))`;

/** How many values a histogram gets in a second. */
export const valuesPerSecond = <Name extends HistogramName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
  wanted: Wanted<Name> = {},
): Expression => `sum${by(labels)} (rate(${selected(`${name}_count`, wanted)}[${RANGE}]))`;

/** How much the sum of a histogram's values rises in a second. */
export const sumPerSecond = <Name extends HistogramName>(
  name: Name,
  labels: readonly LabelOf<Name>[] = [],
): Expression => `sum${by(labels)} (rate(${selected(`${name}_sum`, {})}[${RANGE}]))`;

/** How much a gauge rises in a second that only ever rises while its process lives. */
export const risePerSecond = (name: GaugeName): Expression =>
  `sum (rate(${selected(name, {})}[${RANGE}]))`;

/** What so large a share of a histogram's values does not pass. */
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
