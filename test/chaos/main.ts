/**
 * `npm run test:chaos -- [--seed N] [--faults 200] [--only KIND]`: breaks one thing after the other in a deployment
 * under load, and looks whether all is well after each and at the end. The seed says which faults strike in which
 * order.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import type { TaskMeta } from "vitest";
import { runLong, usage, wholeNumber } from "../soak/command-line.ts";
import { KINDS } from "./kinds.ts";

const EXAMPLE = 'npm run test:chaos -- [--seed 7] [--faults 200] [--only "kill -9 of the reader"]';

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    faults: { type: "string", default: "200" },
    only: { type: "string" },
  },
});
const seed = wholeNumber(
  { name: "seed", text: values.seed ?? `${randomInt(2 ** 31)}`, least: 0 },
  EXAMPLE,
);
const faults = wholeNumber({ name: "faults", text: values.faults, least: 1 }, EXAMPLE);
const { only } = values;
if (only !== undefined && !KINDS.some(({ name }) => name === only)) {
  usage(`--only must be one of\n${KINDS.map(({ name }) => `  ${name}`).join("\n")}\n`, EXAMPLE);
}
const onlyOption = only === undefined ? "" : ` --only "${only}"`;
process.stdout.write(
  `${faults} faults; to repeat them: --seed ${seed} --faults ${faults}${onlyOption}\n`,
);

type Struck = NonNullable<TaskMeta["fault"]>;

/** How often a kind struck, and when the deployment took longest to recover. */
const lineOf = (kind: string, struck: readonly Struck[]): string => {
  const times = struck.flatMap(({ number, recoveredMs }) =>
    recoveredMs === null ? [] : [{ number, recoveredMs }],
  );
  const [longest] = times.toSorted((one, other) => other.recoveredMs - one.recoveredMs);
  const told =
    longest === undefined
      ? "cannot strike here"
      : `longest recovery ${(longest.recoveredMs / 1_000).toFixed(1)} s, of fault ${longest.number}`;
  return `${`${times.length}`.padStart(5)}  ${kind}: ${told}`;
};

await runLong([], {
  include: ["test/chaos/*.chaos.ts"],
  results: "chaos-results.json",
  reporters: ["verbose", "json"],
  disableConsoleIntercept: true,
  // After a failure the world is no longer as the next fault expects it.
  bail: 1,
  provide: { chaos: { seed, faults, only: only ?? null }, soak: { seed, shareMs: 0 } },
  seed,
  report: (tests) => {
    const struck = tests.flatMap((test) => test.meta().fault ?? []);
    const others = tests.flatMap((test) => Object.entries(test.meta().tally ?? {}));
    return [
      ...KINDS.flatMap(({ name }) => {
        const own = struck.filter(({ kind }) => kind === name);
        return own.length === 0 ? [] : [lineOf(name, own)];
      }),
      ...others.map(([what, count]) => `${`${count}`.padStart(5)}  ${what}`),
    ];
  },
});
