/** Log lines for a person: loaded where they are to be readable. */
import { Writable } from "node:stream";
import pretty from "pino-pretty";

/**
 * Takes JSON lines, and shows them readable on standard error; on a terminal in colour, and above the
 * progress line.
 */
export const terminalLines = ({ isTerminal }: { readonly isTerminal: boolean }) =>
  pretty({
    destination: toStandardError(isTerminal),
    colorize: isTerminal,
    singleLine: true,
    translateTime: "HH:MM:ss",
    ignore: "pid,hostname",
  });

/** The last line of a terminal may be the progress line: it gives way to a log line. */
const toStandardError = (isTerminal: boolean) =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      process.stderr.write(isTerminal ? `\r\u001b[2K${chunk}` : chunk, done);
    },
  });
