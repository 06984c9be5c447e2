/**
 * `npm run test:soak -- [--seconds 120] [--seed N] [name …]`: kills processes, attacks
 * the service and searches for counter-examples, for this long, and prints what it did. The seed says what is
 * drawn; when a process is killed also depends on the machine.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { startVitest, type TestCase } from "vitest/node";

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

const usage = (problem: string): never => {
  process.stderr.write(`${problem}; npm run test:soak -- [--seconds 120] [--seed 7] [name …]\n`);
  process.exit(2);
};

const wholeNumber = (name: string, text: string, least: number): number => {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= least
    ? value
    : usage(`--${name} must be a whole number from ${least}`);
};

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "120" }, seed: { type: "string" } },
  allowPositionals: true,
});
const seconds = wholeNumber("seconds", values.seconds, 1);
const seed = wholeNumber("seed", values.seed ?? `${randomInt(2 ** 31)}`, 0);
process.stdout.write(
  `a soak of ${seconds} seconds; to repeat it: --seconds ${seconds} --seed ${seed}\n`,
);

const started = performance.now();
const vitest = await startVitest(positionals, {
  watch: false,
  include: FILES,
  // They start processes themselves.
  maxWorkers: 1,
  testTimeout: 600_000,
  outputFile: { json: "node_modules/.holderbook/soak-results.json" },
  provide: { soak: { seed, shareMs: (seconds / SHARES) * 1_000 } },
});
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const linesOf = (test: TestCase) =>
  Object.entries(test.meta().tally ?? {}).map(
    ([what, count]) => `  ${count} ${what}: ${test.name}\n`,
  );
process.stdout.write(`\n${tests.flatMap(linesOf).join("")}`);
const failed = tests.filter((test) => test.result().state === "failed").length;
const took = Math.round((performance.now() - started) / 1_000);
process.stdout.write(`seed ${seed}: ${tests.length} tests, ${failed} failed, in ${took} seconds\n`);
await vitest.close();
if (failed > 0) process.exitCode = 1;
