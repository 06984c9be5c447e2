/** Metrics of a process, in memory, as plain values that another process can receive. */
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  metric,
} from "./catalogue.ts";

export type Series = {
  readonly name: string;
  /** In the order of the catalogue's labels. */
  readonly labels: readonly string[];
  /** Histogram: count per bucket, count above the last, and sum. Otherwise one value. */
  readonly values: readonly number[];
};

export type Figures = {
  /** Creates a series at 0, so that Prometheus sees its first increment. */
  begin<Name extends MetricName>(name: Name, labels: LabelsOf<Name>): void;
  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Registers a callback that updates gauges before each `look`. */
  beforeLook(look: () => void): void;
  /** Current values. */
  look(): readonly Series[];
};

/**
 * A safety limit, as labels are bounded where they are set; further series share one labelled
 * `other`.
 */
const MOST_SERIES = 500;

const OTHER = "other";

export const createFigures = (): Figures => {
  const all = new Map<string, Map<string, { labels: readonly string[]; values: number[] }>>();
  const looks: (() => void)[] = [];

  const valuesOf = (name: MetricName, given: Readonly<Record<string, string>>): number[] => {
    const { labels: names, buckets } = metric(name);
    const labels = names.map((label) => given[label] ?? "");
    let ofName = all.get(name);
    if (ofName === undefined) {
      ofName = new Map();
      all.set(name, ofName);
    }
    const key = labels.join("\n");
    const found = ofName.get(key);
    if (found !== undefined) return found.values;
    if (ofName.size >= MOST_SERIES && labels.some((label) => label !== OTHER)) {
      return valuesOf(name, Object.fromEntries(names.map((label) => [label, OTHER])));
    }
    const values = new Array<number>(buckets.length === 0 ? 1 : buckets.length + 2).fill(0);
    ofName.set(key, { labels, values });
    return values;
  };
  const add = (values: number[], at: number, by: number) => {
    values[at] = (values[at] ?? 0) + by;
  };

  return {
    begin: (name, labels) => {
      valuesOf(name, labels);
    },
    count: (name, labels, by = 1) => add(valuesOf(name, labels), 0, by),
    set: (name, labels, value) => {
      valuesOf(name, labels)[0] = value;
    },
    observe: (name, labels, value) => {
      const values = valuesOf(name, labels);
      const { buckets } = metric(name);
      const bucket = buckets.findIndex((bound) => value <= bound);
      add(values, bucket === -1 ? buckets.length : bucket, 1);
      add(values, buckets.length + 1, value);
    },
    beforeLook: (look) => {
      looks.push(look);
    },
    look: () => {
      for (const look of looks) look();
      return [...all].flatMap(([name, series]) =>
        [...series.values()].map(({ labels, values }) => ({ name, labels, values: [...values] })),
      );
    },
  };
};

/** Seconds since a `performance.now()`. */
export const secondsSince = (beganMs: number): number => (performance.now() - beganMs) / 1_000;
