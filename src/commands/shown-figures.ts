import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Serves metrics on METRICS_PORT, if set. @throws ListenError (stop) */
export const shownFigures = async (
  { host, metricsPort: port }: Pick<Config, "host" | "metricsPort">,
  { figures }: Telemetry,
  logger: Logger,
): Promise<AsyncDisposable | undefined> => {
  if (port === undefined) return undefined;
  const { showMetrics } = await import("../http/metrics-port.ts");
  const shown = await showMetrics(figures, { host, port });
  logger.info({ port: shown.port }, "showing figures at /metrics");
  return shown;
};
