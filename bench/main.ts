/**
 * `npm run bench [name …]`: measures, compares each figure with the run before, and writes `bench/results` and the table
 * of docs/explanation/performance.md. Figures have a baseline from the same run where there is one, since absolute ones
 * depend on the machine. Settings, whose results are kept and compared by themselves and are not on the page:
 * `graphql=tokenHolders,tokenBalance` (only these queries), `growth=1000000` (rows), `retention=100000` (old callbacks),
 * `guided=1000` (checkpoints of the contract), `backfill=10000` and `parquet=5000` (checkpoints), `freshness=links` (only
 * that level of VERIFY), `rest=fast-path` (only what the fast path buys), `prefilter=5` (rounds).
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BENCHES } from "./benches.ts";
import { report } from "./comparison.ts";
import { PAGE, performancePage } from "./page.ts";
import { measured, newestRuns, RESULTS, record } from "./results.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const wanted = process.argv.slice(2);
const nameOf = (argument: string) => argument.split("=")[0] ?? "";
const unknown = wanted.find((argument) => !Object.hasOwn(BENCHES, nameOf(argument)));
if (unknown !== undefined) {
  process.stderr.write(`no bench ${unknown}; there are ${Object.keys(BENCHES).join(", ")}\n`);
  process.exit(2);
}
for (const [name, load] of Object.entries(BENCHES)) {
  const arguments_ = wanted.length === 0 ? [name] : wanted.filter((one) => nameOf(one) === name);
  for (const argument of arguments_) {
    const run = await measured(await load(), argument.split("=")[1]);
    const before = (await newestRuns(RESULTS)).get(argument);
    process.stdout.write(`${report(argument, run, before)}\n\n`);
    await record(RESULTS, argument, run);
    await writeFile(join(ROOT, PAGE), await performancePage(ROOT));
  }
}
