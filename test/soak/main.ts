/**
 * `npm run test:soak -- [--seconds 120] [--seed N] [name …]`: kills processes, attacks
 * the service and searches for counter-examples, for this long, and prints what it did. The seed says what is
 * drawn; when a process is killed also depends on the machine.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { runLong, wholeNumber } from "./command-line.ts";

/** Those that kill or attack, and those of `npm test` that search among random examples. */
const FILES = [
  "test/soak/*.soak.ts",
  "test/evm/reorganisation.test.ts",
  "test/ledger/damage.test.ts",
  "test/projections/histories.test.ts",
  "test/demo/served-model.test.ts",
  "test/ta/fuzz.test.ts",
];
/** Shares of the time: three for each of five tests that kill, one for each of eight attacks and nine others. */
const SHARES = 32;

const EXAMPLE = "npm run test:soak -- [--seconds 120] [--seed 7] [name …]";

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "120" }, seed: { type: "string" } },
  allowPositionals: true,
});
const seconds = wholeNumber({ name: "seconds", text: values.seconds, least: 1 }, EXAMPLE);
const seed = wholeNumber(
  { name: "seed", text: values.seed ?? `${randomInt(2 ** 31)}`, least: 0 },
  EXAMPLE,
);
process.stdout.write(
  `a soak of ${seconds} seconds; to repeat it: --seconds ${seconds} --seed ${seed}\n`,
);

await runLong(positionals, {
  include: FILES,
  results: "soak-results.json",
  provide: { soak: { seed, shareMs: (seconds / SHARES) * 1_000 } },
  seed,
  report: (tests) =>
    tests.flatMap((test) =>
      Object.entries(test.meta().tally ?? {}).map(
        ([what, count]) => `  ${count} ${what}: ${test.name}`,
      ),
    ),
});
