/**
 * The figures of a process, counted where the work is done: numbers in memory, which cost a look-up in a map.
 * They are plain values when looked at, also for another process.
 */
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  metric,
} from "./catalogue.ts";

/** One series of a metric. */
export type Series = {
  readonly name: string;
  /** In the order of the catalogue's labels. */
  readonly labels: readonly string[];
  /** Of a histogram: how many values each bucket has, one more for what is above, and their sum. Else one. */
  readonly values: readonly number[];
};

export type Figures = {
  /** Shows a series at nothing, so that its first step is seen: Prometheus takes one that appears for old. */
  begin<Name extends MetricName>(name: Name, labels: LabelsOf<Name>): void;
  /** Adds to a counter. */
  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Adds a value to a histogram. */
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** `look` sets gauges; it is called before figures are looked at. */
  beforeLook(look: () => void): void;
  /** All of them, as they stand. */
  look(): readonly Series[];
};

/**
 * Series of one metric. Labels are bounded where they are given; this bound is for the day one is not:
 * further values share one series, in which every label says `other`.
 */
const MOST_SERIES = 500;

/** What a label becomes that has no series of its own. */
const OTHER = "other";

/** Figures of this process, all at nothing. */
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

/** Takes a span of time that began then, by `performance.now()`. */
export const secondsSince = (beganMs: number): number => (performance.now() - beganMs) / 1_000;
