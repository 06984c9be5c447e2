/** Metrics and traces of a process. */
import { createFigures, type Figures } from "./figures.ts";
import type { ProcessName } from "./process-figures.ts";
import { NO_TRACING, type Tracing } from "./tracing.ts";

export type Telemetry = {
  readonly figures: Figures;
  readonly tracing: Tracing;
};

/** Metrics that are not read, and no traces. */
export const noTelemetry = (): Telemetry => ({ figures: createFigures(), tracing: NO_TRACING });

type TracingSettings = {
  /** Base URL of the collector; undefined: no tracing. */
  readonly otlpEndpoint?: string | undefined;
  readonly otlpServiceName: string;
};

/**
 * Opens tracing; loads nothing without a collector.
 * @param onTrouble see `OtlpSettings`
 */
export const openTracing = async (
  { otlpEndpoint, otlpServiceName }: TracingSettings,
  process: ProcessName,
  onTrouble: (code: string | undefined) => void,
): Promise<Tracing> => {
  if (otlpEndpoint === undefined) return NO_TRACING;
  const { otlpTracing } = await import("./otlp-tracing.ts");
  return otlpTracing({
    endpoint: otlpEndpoint,
    serviceName: otlpServiceName,
    process,
    onTrouble,
  });
};
