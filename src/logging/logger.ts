/**
 * Logs go to standard error, as standard output is for data: JSON, or readable text on a terminal.
 */
import pino, { type DestinationStream, type Logger } from "pino";
import type { Remedy } from "../waiting/remedy.ts";
import { shownJson } from "./foreign-text.ts";

export type { Logger } from "pino";

/** Members that may hold secrets or personal data, at any depth of a log line. */
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

/** Loggers whose lines are batched. */
const unhurried = new WeakSet<object>();

/**
 * Logger for one line per request. Lines are batched for up to 100 ms and not searched for secrets:
 * they have none, and the search doubled their cost.
 */
export const requestLines = (logger: Logger): Logger => {
  const lines = logger.child({}, { redact: [] });
  unhurried.add(lines);
  return lines;
};

type LogFormat = "pretty" | "json";

/** The configured format, or by whether standard error is a terminal. */
export const logFormat = (configured: LogFormat | undefined): LogFormat =>
  configured ?? (process.stderr.isTTY ? "pretty" : "json");

/** Opens a stream for readable lines; undefined when the format is JSON. */
export const openTerminal = async (
  configured: LogFormat | undefined,
): Promise<DestinationStream | undefined> => {
  if (logFormat(configured) === "json") return undefined;
  const { terminalLines } = await import("./terminal-lines.ts");
  return terminalLines({ isTerminal: process.stderr.isTTY });
};

/**
 * Creates the process's logger. Secrets are replaced by `[redacted]`. A line is written
 * immediately, except those of `requestLines`.
 *
 * @param level lowest level written, by pino's names
 * @param remedyOf remedy of an error; only unforeseen errors with `stop` are logged with their
 * stack
 * @param terminal readable output, from `openTerminal`
 * @param write receives JSON lines; standard error by default
 * @param traceId trace id for each line
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
      timestamp: isoTime(),
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

/** pino's `isoTime`, formatted once a millisecond: that is 40 % of a line's cost, and busy servers log many in one. */
const isoTime = () => {
  let [ms, text] = [0, ""];
  return (): string => {
    const now = Date.now();
    if (now !== ms) [ms, text] = [now, `,"time":"${new Date(now).toISOString()}"`];
    return text;
  };
};

const withTrace = (traceId: string | undefined): object =>
  traceId === undefined ? {} : { traceId };

const WARN = pino.levels.values.warn ?? 40;

/** PIPE_BUF: a larger write to a pipe may mix with those of other processes. */
const LINES_BYTES = 4 * 1024;
const LINES_MS = 100;

/** Writes synchronously, also to a pipe with a slow reader. */
const standardError = () => {
  const destination = pino.destination({ dest: 2, sync: true });
  return (lines: string): void => {
    destination.write(lines);
  };
};

/** A destination that writes when its buffer is full, after a pause, and at the process's end. */
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
 * Logs only an unforeseen error with its stack; errors with a remedy explain themselves and may
 * repeat.
 */
const shownError =
  (remedyOf: (error: unknown) => Remedy) =>
  (error: unknown): unknown => {
    if (!(error instanceof Error)) return error;
    if (remedyOf(error) === "stop" && !("remedy" in error)) return pino.stdSerializers.err(error);
    const { name, message, cause } = error;
    return { type: name, message, ...(cause instanceof Error && { cause: cause.message }) };
  };
