/** What a process tells of its work: figures and traces. */
import { createFigures, type Figures } from "./figures.ts";
import type { ProcessName } from "./process-figures.ts";
import { NO_TRACING, type Tracing } from "./tracing.ts";

export type Telemetry = {
  readonly figures: Figures;
  readonly tracing: Tracing;
};

/** For code that is run by itself: figures that nobody looks at, and no traces. */
export const noTelemetry = (): Telemetry => ({ figures: createFigures(), tracing: NO_TRACING });

export type TracingSettings = {
  /** Base of a collector; undefined: there is none. */
  readonly otlpEndpoint: string | undefined;
  readonly otlpServiceName: string;
};

/**
 * Opens the traces of a process; without a collector nothing is loaded for them.
 * @param onTrouble told when they could not be sent, see `OtlpSettings`
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
