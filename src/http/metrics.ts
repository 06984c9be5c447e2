/** The metrics of `/metrics`, in the Prometheus text format. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type GaugeName, type LabelsOf, type MetricName, metric } from "../telemetry/catalogue.ts";
import { exposition } from "../telemetry/exposition.ts";
import { createFigures, type Figures, type Series } from "../telemetry/figures.ts";
import type { Health } from "./health/health.ts";
import type { HealthReport, QuarantinedCoins } from "./health/report.ts";

export type Metrics = {
  /** For counters of other rooms; every name is in the catalogue. */
  readonly registry: Registry;
  /** Counts an answered request. `route` is the pattern, never the path. */
  answered(request: {
    readonly method: string;
    readonly route: string;
    readonly statusCode: number;
    readonly seconds: number;
  }): void;
  /** Counts a request whose caller hung up before the answer. */
  aborted(request: { readonly method: string; readonly route: string }): void;
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
};

type MetricsSettings = {
  /** This process's metrics; new ones by default. */
  readonly figures?: Figures | undefined;
  /** Metrics of the indexing process, where it reports to this one. */
  readonly indexing?: (() => readonly Series[]) | undefined;
};

/** Sampling interval of the event loop; a shorter one would wake an idle process. */
export const LOOP_PRECISION_MS = 50;

/** Uses its own registry, so that several servers in one process do not mix. */
export const createMetrics = (
  health: Health,
  { figures = createFigures(), indexing }: MetricsSettings = {},
): Metrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  const registers = [registry];
  const durations = new Histogram({
    ...registered("holderbook_http_request_duration_seconds"),
    registers,
  });
  const aborted = new Counter({
    ...registered("holderbook_http_requests_aborted_total"),
    registers,
  });
  /** Caches series: looking up labels is most of the cost of counting. */
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
      showProgress(await health.report());
      const body = await registry.metrics();
      const counted = exposition(figures.look(), indexing?.() ?? []);
      return { contentType: registry.contentType, body: `${body}\n${counted}` };
    },
  };
};

/** The label `pipeline` of incomplete coins, as in GraphQL's `QUARANTINED`. */
const INCOMPLETE = "completeness";

const progressGauges = (registry: Registry) => {
  const gauges: (readonly [Gauge, GaugeName])[] = [];
  const gauge = (name: GaugeName) => {
    const made = new Gauge({ ...registered(name), registers: [registry] });
    gauges.push([made, name]);
    return made;
  };
  const checkpoint = gauge("holderbook_pipeline_checkpoint");
  const lag = gauge("holderbook_pipeline_lag_checkpoints");
  const age = gauge("holderbook_pipeline_age_seconds");
  const stalled = gauge("holderbook_pipeline_stalled");
  const quarantined = gauge("holderbook_quarantined_coins");
  const quarantinedSeconds = gauge("holderbook_quarantined_seconds");
  const readerCheckpoint = gauge("holderbook_reader_checkpoint");
  const readerTip = gauge("holderbook_reader_tip_checkpoint");
  const readerLag = gauge("holderbook_reader_lag_checkpoints");
  const readerAge = gauge("holderbook_reader_age_seconds");
  const readerStalled = gauge("holderbook_reader_stalled");
  const answerAge = gauge("holderbook_source_answer_age_seconds");
  const silent = gauge("holderbook_source_silent_seconds");
  const up = gauge("holderbook_database_up");
  const seenAge = gauge("holderbook_health_age_seconds");

  const showHeld = (pipeline: string, held: QuarantinedCoins | undefined) => {
    quarantined.set({ pipeline }, held?.coins ?? 0);
    for (const { coinType: coin, since } of held?.first ?? []) {
      quarantinedSeconds.set({ pipeline, coin }, (Date.now() - Date.parse(since)) / 1_000);
    }
  };

  return ({ pipelines, reader, reason, ageSeconds, incomplete }: HealthReport) => {
    // Unknown values must not show earlier ones.
    for (const each of gauges) emptied(...each);
    // Without the database the last observation is shown, with its age.
    up.set(reason === undefined && ageSeconds === undefined ? 1 : 0);
    if (reason === undefined || ageSeconds !== undefined) seenAge.set(ageSeconds ?? 0);
    for (const { pipeline, lagCheckpoints, ...seen } of pipelines) {
      if (seen.checkpoint !== null) checkpoint.set({ pipeline }, Number(seen.checkpoint));
      if (seen.ageSeconds !== null) age.set({ pipeline }, seen.ageSeconds);
      if (lagCheckpoints !== null) lag.set({ pipeline }, Number(lagCheckpoints));
      stalled.set({ pipeline }, seen.state === "stalled" ? 1 : 0);
      showHeld(pipeline, seen.quarantined);
    }
    if (pipelines.length > 0) showHeld(INCOMPLETE, incomplete);
    if (reader.checkpoint !== null) readerCheckpoint.set(Number(reader.checkpoint));
    if (reader.tip !== null) readerTip.set(Number(reader.tip));
    if (reader.ageSeconds !== null) readerAge.set(reader.ageSeconds);
    if (reader.lagCheckpoints !== null) readerLag.set(Number(reader.lagCheckpoints));
    readerStalled.set(reader.state === "stalled" ? 1 : 0);
    if (reader.source === undefined) return;
    const { source, answerAgeSeconds, silentSeconds } = reader.source;
    if (answerAgeSeconds !== null) answerAge.set({ source }, answerAgeSeconds);
    if (silentSeconds !== null) silent.set({ source }, silentSeconds);
  };
};

/** A metric of the catalogue in prom-client's terms. */
export const registered = (name: MetricName) => {
  const { about, labels, buckets } = metric(name);
  return { name, help: about, labelNames: [...labels], buckets: [...buckets] };
};

/** Removes all values of a gauge: `reset` would show 0 for one without labels. */
const emptied = (gauge: Gauge, name: GaugeName): void => {
  if (metric(name).labels.length === 0) gauge.remove();
  else gauge.reset();
};

/** Adds a gauge of the catalogue; `show` runs at each scrape. */
type AddGauge<Details> = <Name extends GaugeName>(
  name: Name,
  show: (details: Details, set: (labels: LabelsOf<Name>, value: number) => void) => void,
) => void;

/**
 * Gauges taken from one kind of details of `/health`, so that both agree; empty while it has none.
 */
export const healthGauge =
  <Details>(
    registry: Registry,
    health: Health,
    isOurs: (details: unknown) => details is Details,
  ): AddGauge<Details> =>
  (name, show) => {
    new Gauge({
      ...registered(name),
      registers: [registry],
      async collect() {
        emptied(this, name);
        const details = (await health.report()).details;
        if (isOurs(details)) show(details, (given, value) => this.set(given, value));
      },
    });
  };
