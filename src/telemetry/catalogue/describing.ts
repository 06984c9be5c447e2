/** Builders for descriptions of metrics. */

export type MetricType = "counter" | "gauge" | "histogram";

/**
 * `deployment`: read from the database and equal in every serving process, so aggregate with max.
 * `process`: of the process asked (and its indexing process under `start`), so sum.
 */
export type Scope = "deployment" | "process";

export type Metric = {
  readonly type: MetricType;
  /** `seconds`, `bytes`, `checkpoints`, …; `1` for a flag or a ratio. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly scope: Scope;
  /** One line, for the reference and `# HELP`. */
  readonly about: string;
  /** Upper bounds of histogram buckets, ascending; else empty. */
  readonly buckets: readonly number[];
};

/** A metric with the exact type of its labels. */
type Described<Type extends MetricType, Label extends string> = Metric & {
  readonly type: Type;
  readonly labels: readonly Label[];
};

export const describing =
  <Type extends MetricType>(type: Type, scope: Scope) =>
  <const Label extends string = never>(
    unit: string,
    about: string,
    labels: readonly Label[] = [],
    buckets: readonly number[] = [],
  ): Described<Type, Label> => ({ type, scope, unit, about, labels, buckets });

/** Read from the database: equal in every serving process. */
export const known = describing("gauge", "deployment");
export const gauge = describing("gauge", "process");
export const counter = describing("counter", "process");
export const histogram = <const Label extends string = never>(
  unit: string,
  buckets: readonly number[],
  about: string,
  labels: readonly Label[] = [],
): Described<"histogram", Label> =>
  describing("histogram", "process")(unit, about, labels, buckets);

/** Seconds: from an indexed read to the longest statement. */
export const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds: network requests, up to their deadlines. */
export const REMOTE = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

/** Batch sizes: from one at the chain's tip to a full batch. */
export const COUNTS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
