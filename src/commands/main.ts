/** The program. */
import "./quick-imports.ts";
import { runCommandLine } from "./command-line.ts";

/** Time for output to drain, and for what ends by itself. */
const LINGER_MS = 1_000;

/**
 * Exits even if a library left a timer or a socket open: a queue whose backend has just gone away would keep the
 * process for ten seconds.
 */
const endSoon = (): void => {
  const unwritten = () => process.stdout.writableLength + process.stderr.writableLength;
  setTimeout(() => (unwritten() > 0 ? endSoon() : process.exit()), LINGER_MS).unref();
};

await runCommandLine(process.argv.slice(2));
endSoon();
