/**
 * Logs go to standard error, so that standard output belongs to data: JSON lines, or readable ones
 * on a terminal.
 */
import pino, { type DestinationStream, type Logger } from "pino";
import type { Remedy } from "../waiting/remedy.ts";
import { shownJson } from "./foreign-text.ts";

export type { Logger } from "pino";

/** Members that may hold a secret or personal data, wherever they stand in a log line. */
const SECRET = [
  "x-api-key",
  "x-project-api-key",
  "x-request-sig-b64",
  "authorization",
  "cookie",
  "password",
  "secret",
  "secretKey",
  "investor",
];

const paths = SECRET.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);

/** Loggers whose lines may wait for one another. */
const unhurried = new WeakSet<object>();

/**
 * For the line that every request leaves. Such lines are written together, a tenth of a second late at
 * the most. Their members are the service's own and hold no secret: looking for some in each line took
 * as long as the rest of it.
 */
export const requestLines = (logger: Logger): Logger => {
  const lines = logger.child({}, { redact: [] });
  unhurried.add(lines);
  return lines;
};

/** How lines look: readable to a person, or JSON for programs. */
export type LogFormat = "pretty" | "json";

/** As configured, or else as standard error wants it. */
export const logFormat = (configured: LogFormat | undefined): LogFormat =>
  configured ?? (process.stderr.isTTY ? "pretty" : "json");

/** Shows lines readable to a person; undefined where they are to be JSON. */
export const openTerminal = async (
  configured: LogFormat | undefined,
): Promise<DestinationStream | undefined> => {
  if (logFormat(configured) === "json") return undefined;
  const { terminalLines } = await import("./terminal-lines.ts");
  return terminalLines({ isTerminal: process.stderr.isTTY });
};

/**
 * Makes the process's logger. Secrets are replaced by `[redacted]` wherever they are logged. A line is
 * written at once, with all before it; only those of `requestLines` wait.
 *
 * @param level the least severe level that is written, by pino's names
 * @param remedyOf what an error asks for; of those that ask for more than `stop` no stack is shown
 * @param terminal as `openTerminal` gives it: shows the lines
 * @param write takes the lines, where there is no terminal; standard error unless given
 * @param traceId of what is being worked on: stands in each line of it; absent without tracing
 */
export const createLogger = ({
  level,
  remedyOf,
  terminal,
  write,
  traceId,
}: {
  readonly level: string;
  readonly remedyOf: (error: unknown) => Remedy;
  readonly terminal?: DestinationStream | undefined;
  readonly write?: (lines: string) => void;
  readonly traceId?: (() => string | undefined) | undefined;
}): Logger => {
  const lines = terminal === undefined ? batchedLines(write ?? standardError()) : undefined;
  return pino(
    {
      level,
      base: null,
      redact: { paths, censor: "[redacted]" },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: shownError(remedyOf) },
      timestamp: pino.stdTimeFunctions.isoTime,
      ...(traceId && { mixin: () => withTrace(traceId()) }),
      hooks: {
        logMethod(args, method, logged) {
          method.apply(this, args);
          if (logged >= WARN || !unhurried.has(this)) lines?.flush();
        },
      },
    },
    terminal ?? lines,
  );
};

const withTrace = (traceId: string | undefined): object =>
  traceId === undefined ? {} : { traceId };

const WARN = pino.levels.values.warn ?? 40;

/** What one write to a pipe may have to reach it in one piece, beside those of other processes. */
const LINES_BYTES = 4 * 1024;
const LINES_MS = 100;

/** What it is given has been written when it returns, also to a pipe whose reader is slow. */
const standardError = () => {
  const destination = pino.destination({ dest: 2, sync: true });
  return (lines: string): void => {
    destination.write(lines);
  };
};

/** A destination that is written to when there is enough or some time has passed, and when the process ends. */
const batchedLines = (write: (lines: string) => void) => {
  let text = "";
  let late: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(late);
    late = undefined;
    const lines = text;
    text = "";
    if (lines !== "") write(shownJson(lines));
  };
  process.once("exit", flush);
  return {
    flush,
    write: (line: string) => {
      if (text.length + line.length > LINES_BYTES) flush();
      text += line;
      if (text.length >= LINES_BYTES) flush();
      else late ??= setTimeout(flush, LINES_MS).unref();
    },
  };
};

/**
 * What is logged of an error. An error with a remedy says all in its message, and one that passes by
 * itself may come often. Only an unforeseen error is shown with its stack.
 */
const shownError =
  (remedyOf: (error: unknown) => Remedy) =>
  (error: unknown): unknown => {
    if (!(error instanceof Error)) return error;
    if (remedyOf(error) === "stop" && !("remedy" in error)) return pino.stdSerializers.err(error);
    const { name, message, cause } = error;
    return { type: name, message, ...(cause instanceof Error && { cause: cause.message }) };
  };
