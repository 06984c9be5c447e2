/**
 * `npm run bench [name …]`: the figures of docs/explanation/performance.md, each with a baseline
 * from the same run, since absolute figures depend on the machine. Settings:
 * `graphql=tokenHolders,tokenBalance` (only these queries), `growth=1000000` (rows).
 */
import type { Figure } from "./figure.ts";

const BENCHES: Readonly<Record<string, (setting?: string) => Promise<readonly Figure[]>>> = {
  prefilter: async () => [await (await import("./prefilter.ts")).prefilterBench()],
  decoding: async () => [await (await import("./decoding.ts")).decodingBench()],
  verify: async () => [await (await import("./verify.ts")).verifyBench()],
  commit: async () => [await (await import("./commit.ts")).commitBench()],
  freshness: async () => [await (await import("./freshness.ts")).freshnessBench()],
  memory: async () => [await (await import("./memory.ts")).memoryBench()],
  evm: async () => {
    const { evmBench } = await import("./evm.ts");
    return [await evmBench({ perTransaction: 50 }), await evmBench({ perTransaction: 1 })];
  },
  graphql: async (only) => (await import("./graphql.ts")).graphqlBench(only),
  past: async () => (await import("./past.ts")).pastBench(),
  growth: async (rows) => (await import("./growth.ts")).growthBench(rows),
  streams: async () => (await import("./streams.ts")).streamsBench(),
  rest: async () => (await import("./rest.ts")).restBench(),
  callbacks: async () => [await (await import("./callbacks.ts")).callbacksBench()],
  ta: async () => (await import("./ta.ts")).taBench(),
};

const wanted = new Map(
  process.argv.slice(2).map((argument) => {
    const [name = "", setting] = argument.split("=");
    return [name, setting] as const;
  }),
);
const unknown = [...wanted.keys()].find((name) => BENCHES[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`no bench ${unknown}; there are ${Object.keys(BENCHES).join(", ")}\n`);
  process.exit(2);
}
for (const [name, run] of Object.entries(BENCHES)) {
  if (wanted.size > 0 && !wanted.has(name)) continue;
  for (const figure of await run(wanted.get(name))) {
    process.stdout.write(
      `${figure.name}\n  reached ${figure.reached}, aim ${figure.aim}\n  ${figure.detail}\n\n`,
    );
  }
}
