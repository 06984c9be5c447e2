/** Log lines for a person: loaded where standard error is a terminal. */
import { Writable } from "node:stream";
import pretty from "pino-pretty";

/** Takes JSON lines, and shows them readable above the progress line. */
export const terminalLines = () =>
  pretty({
    destination: aboveProgress(),
    colorize: true,
    singleLine: true,
    translateTime: "HH:MM:ss",
    ignore: "pid,hostname",
  });

/** Standard error of a terminal, whose last line may be the progress line: it gives way to a log line. */
const aboveProgress = () =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      process.stderr.write(`\r\u001b[2K${chunk}`, done);
    },
  });
