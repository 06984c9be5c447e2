/** Metrics of the catalogue as the registry wants them. */
import type { Gauge } from "prom-client";
import { type GaugeName, type MetricName, metric } from "../telemetry/catalogue.ts";

/** Name, help, labels and buckets. */
export const registered = (name: MetricName) => {
  const { about, labels, buckets } = metric(name);
  return { name, help: about, labelNames: [...labels], buckets: [...buckets] };
};

/** Takes every value from a gauge: `reset` shows 0 for one without labels, as if that were known. */
export const emptied = (gauge: Gauge, name: GaugeName): void => {
  if (metric(name).labels.length === 0) gauge.remove();
  else gauge.reset();
};
