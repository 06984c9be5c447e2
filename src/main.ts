/** The program. */
import "./quick-imports.ts";
import { runCommandLine } from "./command-line.ts";

await runCommandLine(process.argv.slice(2));
