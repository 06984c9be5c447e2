/** Readable log lines; loaded only when needed. */
import { Writable } from "node:stream";
import pretty from "pino-pretty";
import { shownForeign, shownLines } from "./foreign-text.ts";

/** Prints JSON log lines as readable text; on a terminal in colour and above the progress line. */
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

/** Error texts of other servers must not control the terminal. Stacks keep their lines. */
const withoutControls = (line: string): string =>
  JSON.stringify(
    JSON.parse(line, (name, value: unknown) => {
      if (typeof value !== "string") return value;
      return name === "stack" ? shownLines(value) : shownForeign(value);
    }),
  );

/** Clears a progress line before a log line. */
const toStandardError = (isTerminal: boolean) =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      process.stderr.write(isTerminal ? `\r\u001b[2K${chunk}` : chunk, done);
    },
  });
