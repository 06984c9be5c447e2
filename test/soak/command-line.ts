/** What the programs of long tests share: their options, a run of vitest, and their last lines. */
import { startVitest, type TestCase, type TestUserConfig } from "vitest/node";

/** Ends the program with code 2. */
export const usage = (problem: string, example: string): never => {
  process.stderr.write(`${problem}; ${example}\n`);
  process.exit(2);
};

/** The value of `--name`, a whole number; otherwise the program ends with `example`. */
export const wholeNumber = (
  option: { readonly name: string; readonly text: string; readonly least: number },
  example: string,
): number => {
  const value = Number(option.text);
  return Number.isSafeInteger(value) && value >= option.least
    ? value
    : usage(`--${option.name} must be a whole number from ${option.least}`, example);
};

/**
 * Runs these test files in one worker, since they start processes themselves, and then calls `report`; its lines
 * are the last ones but for the seed. A failure sets the exit code.
 * @param results name of the JSON file that `.ci/run` counts from
 */
export const runLong = async (
  filters: readonly string[],
  {
    results,
    seed,
    report,
    ...config
  }: TestUserConfig & {
    readonly results: string;
    readonly seed: number;
    readonly report: (tests: readonly TestCase[]) => readonly string[];
  },
): Promise<void> => {
  const started = performance.now();
  const vitest = await startVitest([...filters], {
    watch: false,
    maxWorkers: 1,
    testTimeout: 600_000,
    outputFile: { json: `node_modules/.holderbook/${results}` },
    ...config,
  });
  const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  process.stdout.write(
    `\n${report(tests)
      .map((line) => `${line}\n`)
      .join("")}`,
  );
  const failed = tests.filter((test) => test.result().state === "failed").length;
  const took = Math.round((performance.now() - started) / 1_000);
  process.stdout.write(
    `seed ${seed}: ${tests.length} tests, ${failed} failed, in ${took} seconds\n`,
  );
  await vitest.close();
  if (failed > 0) process.exitCode = 1;
};
