/** The program. */
import "./quick-imports.ts";
import { runCommandLine } from "./command-line.ts";

/** What is still to be written, and what ends by itself, has so long. */
const LINGER_MS = 1_000;

/**
 * Ends the process although something in it goes on: a library may leave a timer or a socket behind, such as a queue
 * whose backend went away a moment ago, which waits ten seconds for it.
 */
const endSoon = (): void => {
  const unwritten = () => process.stdout.writableLength + process.stderr.writableLength;
  setTimeout(() => (unwritten() > 0 ? endSoon() : process.exit()), LINGER_MS).unref();
};

await runCommandLine(process.argv.slice(2));
endSoon();
