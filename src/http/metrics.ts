/** What `/metrics` shows, in the Prometheus text format. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Health, HealthReport } from "./health/health.ts";

export type Metrics = {
  /** For counters of other rooms; every name begins with `holderbook_`. */
  readonly registry: Registry;
  /** Counts one answered request. `route` is the pattern, never the path itself. */
  answered(request: {
    readonly method: string;
    readonly route: string;
    readonly statusCode: number;
    readonly seconds: number;
  }): void;
  /** Counts one request whose caller hung up before it was answered. */
  aborted(request: { readonly method: string; readonly route: string }): void;
  /** Content type and text of `/metrics`. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
};

/** From 1 ms, the time of an indexed read, to the longest a statement may run. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Makes a registry of its own, so that several servers in one process do not mix. */
export const createMetrics = (health: Health): Metrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: "holderbook_http_request_duration_seconds",
    help: "Time from a request's arrival to the end of its answer",
    labelNames: ["method", "route", "status"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  const aborted = new Counter({
    name: "holderbook_http_requests_aborted_total",
    help: "Requests whose caller hung up before the end of the answer",
    labelNames: ["method", "route"],
    registers: [registry],
  });
  /** Methods, routes and codes are few; working out which series they mean is most of counting. */
  const known = new Map<string, Histogram.Internal<string>>();
  const labelled = (method: string, route: string, status: number) => {
    const name = `${method} ${status} ${route}`;
    const series = known.get(name) ?? durations.labels({ method, route, status });
    known.set(name, series);
    return series;
  };
  const showProgress = progressGauges(registry);
  return {
    registry,
    answered: ({ method, route, statusCode, seconds }) =>
      labelled(method, route, statusCode).observe(seconds),
    aborted: ({ method, route }) => aborted.inc({ method, route }),
    text: async () => {
      // Without the database the process's own figures are still worth having.
      showProgress(await health.report().catch(() => undefined));
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
};

const progressGauges = (registry: Registry) => {
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `holderbook_${name}`, help, labelNames, registers: [registry] });
  const checkpoint = gauge("pipeline_checkpoint", "Last checkpoint a pipeline committed", [
    "pipeline",
  ]);
  const lag = gauge("pipeline_lag_checkpoints", "Checkpoints read and not yet applied", [
    "pipeline",
  ]);
  const age = gauge("pipeline_age_seconds", "Age of the last checkpoint a pipeline committed", [
    "pipeline",
  ]);
  const stalled = gauge("pipeline_stalled", "1 while a pipeline has work and does not do it", [
    "pipeline",
  ]);
  const readerCheckpoint = gauge("reader_checkpoint", "Last checkpoint appended to the log", []);
  const readerLag = gauge("reader_lag_checkpoints", "Checkpoints of the chain not yet read", []);
  const readerStalled = gauge(
    "reader_stalled",
    "1 while the reader has work and does not do it",
    [],
  );
  const answerAge = gauge(
    "source_answer_age_seconds",
    "Seconds since the ledger's source last answered the reader, in whatever process it runs",
    ["source"],
  );
  const silent = gauge(
    "source_silent_seconds",
    "Seconds during which a question to the source has been waiting since its last answer",
    ["source"],
  );
  const up = gauge("database_up", "1 while the database answers", []);

  return (report: HealthReport | undefined) => {
    // What is not known now must not show what was known before.
    for (const each of [
      checkpoint,
      lag,
      age,
      stalled,
      readerCheckpoint,
      readerLag,
      readerStalled,
      answerAge,
      silent,
    ]) {
      each.reset();
    }
    up.set(report === undefined ? 0 : 1);
    if (report === undefined) return;
    const { pipelines, reader } = report;
    for (const { pipeline, lagCheckpoints, ...seen } of pipelines) {
      if (seen.checkpoint !== null) checkpoint.set({ pipeline }, Number(seen.checkpoint));
      if (seen.ageSeconds !== null) age.set({ pipeline }, seen.ageSeconds);
      if (lagCheckpoints !== null) lag.set({ pipeline }, Number(lagCheckpoints));
      stalled.set({ pipeline }, seen.state === "stalled" ? 1 : 0);
    }
    if (reader.checkpoint !== null) readerCheckpoint.set(Number(reader.checkpoint));
    if (reader.lagCheckpoints !== null) readerLag.set(Number(reader.lagCheckpoints));
    readerStalled.set(reader.state === "stalled" ? 1 : 0);
    if (reader.source === undefined) return;
    const { source, answerAgeSeconds, silentSeconds } = reader.source;
    if (answerAgeSeconds !== null) answerAge.set({ source }, answerAgeSeconds);
    if (silentSeconds !== null) silent.set({ source }, silentSeconds);
  };
};
