/** Common to all commands: settings, a logger, and the signal to end. */
import { closeSync, openSync } from "node:fs";
import type { Logger } from "../logging/logger.ts";
import { openProcess, type Process } from "../service/process.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";

export type Runtime = Process & {
  /** Aborts when the process is asked to end, or gives up. */
  readonly signal: AbortSignal;
  /** Logs why this process cannot continue, and ends it in order with code 1. */
  readonly giveUp: (error: Error) => void;
  /** Replaces the end of the process on SIGHUP, except when its terminal is gone. */
  readonly onHangUp: (handle: () => void) => void;
};

/** An orderly end takes no longer. A supervisor has to wait at least as long before it kills. */
export const END_WITHIN_MS = 20_000;

/** Opens the process, and handles signals. @throws ConfigError when a setting is wrong */
export const openRuntime = async (service?: ProcessName): Promise<Runtime> => {
  const opened = await openProcess(service);
  return { ...opened, ...endSignal(opened.logger) };
};

const endSignal = (logger: Logger): Pick<Runtime, "signal" | "giveUp" | "onHangUp"> => {
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
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => end(name));
  const hadTerminal = hasTerminal();
  let handle: (() => void) | undefined;
  process.on("SIGHUP", () => {
    if (handle === undefined || (hadTerminal && !hasTerminal())) end("SIGHUP");
    else handle();
  });
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
    onHangUp: (given) => {
      handle = given;
    },
  };
};

/** A terminal that was closed can no longer be opened. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
};
