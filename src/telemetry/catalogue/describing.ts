/** How a figure is described: the words of the catalogue. */

export type MetricType = "counter" | "gauge" | "histogram";

/**
 * Whose figure it is. `deployment`: read from the database, the same in every process that serves, so take
 * the largest of several. `process`: of the process that is asked (and of the one that indexes beside it,
 * under `start`), so add several up.
 */
export type Scope = "deployment" | "process";

export type Metric = {
  readonly type: MetricType;
  /** What is counted: `seconds`, `bytes`, `checkpoints`, …; `1` for yes and 0 for no, or a share. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly scope: Scope;
  /** One line, for people and for `# HELP`. */
  readonly about: string;
  /** Upper bounds of a histogram's buckets, ascending; empty for other types. */
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

/** Read from the database: the same in every process that serves. */
export const known = describing("gauge", "deployment");
/** Of a process. */
export const gauge = describing("gauge", "process");
export const counter = describing("counter", "process");
export const histogram = describing("histogram", "process");

/** Seconds: from an indexed read to the longest statement. */
export const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds: of what goes over a network, with its deadlines. */
export const REMOTE = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

/** How many at once: from one at the chain's end to a full batch. */
export const COUNTS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
