import { databaseRemedy } from "../database/database-error.ts";
import { createLogger, type Logger, openTerminal } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Config } from "../settings/config.ts";
import { configFromEnvironment } from "../settings/read-config.ts";
import { createFigures } from "../telemetry/figures.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";
import { openTracing, type Telemetry } from "../telemetry/telemetry.ts";
import { NO_TRACING } from "../telemetry/tracing.ts";

export type Process = {
  readonly config: Config;
  readonly logger: Logger;
  /** Dispose of its traces at the end. */
  readonly telemetry: Telemetry;
};

/**
 * Reads `.env` and the environment.
 * @param service whose work is traced; absent for other commands
 * @param marks members of each log line
 * @throws ConfigError when a setting is wrong
 */
export const openProcess = async (
  service?: ProcessName,
  marks: Readonly<Record<string, string>> = {},
): Promise<Process> => {
  const config = configFromEnvironment();
  const rarely = createRareLines();
  let known: Logger | undefined;
  const onTrouble = (code: string | undefined) =>
    rarely("traces", (repeats) =>
      known?.warn({ code, ...repeats }, "traces cannot be sent to their collector; they are lost"),
    );
  const tracing =
    service === undefined ? NO_TRACING : await openTracing(config, service, onTrouble);
  const logger = createLogger({
    level: config.logLevel,
    remedyOf: databaseRemedy,
    terminal: await openTerminal(config.logFormat),
    ...(tracing.isOn && { traceId: () => tracing.traceId }),
  }).child(marks);
  known = logger;
  return { config, logger, telemetry: { figures: createFigures(), tracing } };
};
