/** Log lines for a person: loaded where they are to be readable. */
import { Writable } from "node:stream";
import pretty from "pino-pretty";
import { shownForeign, shownLines } from "./foreign-text.ts";

/**
 * Takes JSON lines, and shows them readable on standard error; on a terminal in colour, and above the
 * progress line.
 */
export const terminalLines = ({ isTerminal }: { readonly isTerminal: boolean }) => {
  const lines = pretty({
    destination: toStandardError(isTerminal),
    colorize: isTerminal,
    singleLine: true,
    translateTime: "HH:MM:ss",
    ignore: "pid,hostname",
  });
  return { write: (line: string): void => void lines.write(`${withoutControls(line)}\n`) };
};

/** Errors of other servers are part of log lines: none of them may steer the terminal. A stack keeps its lines. */
const withoutControls = (line: string): string =>
  JSON.stringify(
    JSON.parse(line, (name, value: unknown) => {
      if (typeof value !== "string") return value;
      return name === "stack" ? shownLines(value) : shownForeign(value);
    }),
  );

/** The last line of a terminal may be the progress line: it gives way to a log line. */
const toStandardError = (isTerminal: boolean) =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      process.stderr.write(isTerminal ? `\r\u001b[2K${chunk}` : chunk, done);
    },
  });
