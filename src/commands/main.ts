import "./quick-imports.ts";
import { runCommandLine } from "./command-line.ts";

// `holderbook … | head`: the reader has what it wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

/** Time for output to drain and pending work to end. */
const LINGER_MS = 1_000;

/**
 * Exits despite open timers or sockets: a queue without its backend would block for ten seconds.
 */
const endSoon = (): void => {
  const unwritten = () => process.stdout.writableLength + process.stderr.writableLength;
  setTimeout(() => (unwritten() > 0 ? endSoon() : process.exit()), LINGER_MS).unref();
};

await runCommandLine(process.argv.slice(2));
endSoon();
