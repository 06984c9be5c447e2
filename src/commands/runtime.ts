/** Common to all commands: settings, a logger, and the signal to end. */

import { databaseRemedy } from "../database/database-error.ts";
import { createLogger, type Logger, openTerminal } from "../logging/logger.ts";
import { warnOfLostTraces } from "../logging/rare-lines.ts";
import type { Config } from "../settings/config.ts";
import { configFromEnvironment } from "../settings/read-config.ts";
import { createFigures } from "../telemetry/figures.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";
import { openTracing, type Telemetry } from "../telemetry/telemetry.ts";
import { NO_TRACING } from "../telemetry/tracing.ts";

export type Runtime = {
  readonly config: Config;
  readonly logger: Logger;
  /** Dispose of its traces at the end. */
  readonly telemetry: Telemetry;
  /** Aborts when the process is asked to end, or gives up. */
  readonly signal: AbortSignal;
  /** Logs why this process cannot continue, and ends it in order with code 1. */
  readonly giveUp: (error: Error) => void;
};

const END_WITHIN_MS = 20_000;

/**
 * Reads `.env` and the environment, and handles signals.
 * @param service the process whose work is traced; absent for other commands
 * @throws ConfigError when a setting is wrong
 */
export const openRuntime = async (service?: ProcessName): Promise<Runtime> => {
  const config = configFromEnvironment();
  let known: Logger | undefined;
  const onTrouble = warnOfLostTraces(() => known);
  const tracing =
    service === undefined ? NO_TRACING : await openTracing(config, service, onTrouble);
  const logger = createLogger({
    level: config.logLevel,
    remedyOf: databaseRemedy,
    terminal: await openTerminal(config.logFormat),
    ...(tracing.isOn && { traceId: () => tracing.traceId }),
  });
  known = logger;
  const telemetry = { figures: createFigures(), tracing };
  return { config, logger, telemetry, ...endSignal(logger) };
};

const endSignal = (logger: Logger): Pick<Runtime, "signal" | "giveUp"> => {
  const ending = new AbortController();
  const end = (reason: string) => {
    // Terminal and launcher both forward a Ctrl-C: ignore the second signal.
    if (ending.signal.aborted) return;
    logger.info({ reason }, "ending");
    ending.abort(new DOMException(reason, "AbortError"));
    setTimeout(() => {
      logger.fatal(`did not end within ${END_WITHIN_MS / 1000} s; giving up`);
      process.exit(1);
    }, END_WITHIN_MS).unref();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => end(name));
  // The channel closes however the launcher dies.
  process.on("disconnect", () => end("launcher gone"));
  process.channel?.unref();
  return {
    signal: ending.signal,
    giveUp: (error) => {
      logger.fatal({ err: error }, "giving up");
      process.exitCode = 1;
      end(error.name);
    },
  };
};
