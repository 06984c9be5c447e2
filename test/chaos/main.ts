/**
 * `npm run test:chaos -- [--seed N] [--faults 200] [--only KIND]`: breaks one thing after the other in a deployment
 * under load, and looks whether all is well after each and at the end. The seed says which faults strike in which
 * order.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
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

const inSeconds = (ms: number) => (ms / 1_000).toFixed(1);

await runLong([], {
  include: ["test/chaos/*.chaos.ts"],
  results: "chaos-results.json",
  reporters: ["verbose", "json"],
  // After a failure the world is no longer as the next fault expects it.
  bail: 1,
  provide: { chaos: { seed, faults, only: only ?? null }, soak: { seed, shareMs: 0 } },
  seed,
  report: (tests) => {
    const struck = tests.flatMap((test) => test.meta().fault ?? []);
    const byKind = Map.groupBy(struck, ({ kind }) => kind);
    const kinds = KINDS.flatMap(({ name }) => {
      const times = byKind.get(name)?.map(({ recoveredMs }) => recoveredMs) ?? [];
      const recovered = times.filter((ms) => ms !== null);
      if (times.length === 0) return [];
      const longest =
        recovered.length === 0
          ? "cannot strike here"
          : `longest recovery ${inSeconds(Math.max(...recovered))} s`;
      return [`${recovered.length.toString().padStart(4)}  ${name}: ${longest}`];
    });
    const others = tests.flatMap((test) =>
      Object.entries(test.meta().tally ?? {}).map(
        ([what, n]) => `${n.toString().padStart(4)}  ${what}`,
      ),
    );
    return [...kinds, ...others];
  },
});
