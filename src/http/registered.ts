/** Metrics of the catalogue as the registry wants them. */
import { type MetricName, metric } from "../telemetry/catalogue.ts";

/** Name, help, labels and buckets. */
export const registered = (name: MetricName) => {
  const { about, labels, buckets } = metric(name);
  return { name, help: about, labelNames: [...labels], buckets: [...buckets] };
};
