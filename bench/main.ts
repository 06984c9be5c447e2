/**
 * `npm run bench [name …]`: the figures of docs/explanation/performance.md, each with a baseline
 * from the same run, since absolute figures depend on the machine. Settings:
 * `graphql=tokenHolders,tokenBalance` (only these queries), `growth=1000000` (rows),
 * `retention=100000` (old callbacks), `guided=1000` (checkpoints of the contract), `backfill=10000` (checkpoints), `rest=fast-path` (only what the fast path buys).
 */
import type { Figure } from "./figure.ts";

type Bench = { readonly bench: (setting?: string) => Promise<Figure | readonly Figure[]> };

const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  prefilter: () => import("./prefilter.ts"),
  decoding: () => import("./decoding.ts"),
  verify: () => import("./verify.ts"),
  guided: () => import("./guided.ts"),
  backfill: () => import("./backfill.ts"),
  commit: () => import("./commit.ts"),
  freshness: () => import("./freshness.ts"),
  memory: () => import("./memory.ts"),
  archive: () => import("./archive.ts"),
  parquet: () => import("./parquet.ts"),
  evm: () => import("./evm.ts"),
  graphql: () => import("./graphql.ts"),
  past: () => import("./past.ts"),
  growth: () => import("./growth.ts"),
  streams: () => import("./streams.ts"),
  rest: () => import("./rest.ts"),
  callbacks: () => import("./callbacks.ts"),
  ta: () => import("./ta.ts"),
  retention: () => import("./retention.ts"),
  replay: () => import("./replay.ts"),
};

const wanted = new Map(
  process.argv.slice(2).map((argument) => {
    const [name = "", setting] = argument.split("=");
    return [name, setting] as const;
  }),
);
const unknown = [...wanted.keys()].find((name) => !Object.hasOwn(BENCHES, name));
if (unknown !== undefined) {
  process.stderr.write(`no bench ${unknown}; there are ${Object.keys(BENCHES).join(", ")}\n`);
  process.exit(2);
}
for (const [name, load] of Object.entries(BENCHES)) {
  if (wanted.size > 0 && !wanted.has(name)) continue;
  const { bench } = await load();
  for (const figure of [await bench(wanted.get(name))].flat()) {
    process.stdout.write(
      `${figure.name}\n  reached ${figure.reached}, aim ${figure.aim}\n  ${figure.detail}\n\n`,
    );
  }
}
