/** Metrics of the catalogue in prom-client's terms. */
import type { Gauge } from "prom-client";
import { type GaugeName, type MetricName, metric } from "../telemetry/catalogue.ts";

export const registered = (name: MetricName) => {
  const { about, labels, buckets } = metric(name);
  return { name, help: about, labelNames: [...labels], buckets: [...buckets] };
};

/** Removes all values of a gauge: `reset` would show 0 for one without labels. */
export const emptied = (gauge: Gauge, name: GaugeName): void => {
  if (metric(name).labels.length === 0) gauge.remove();
  else gauge.reset();
};
