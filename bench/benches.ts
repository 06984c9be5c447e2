import type { Figure } from "./figure.ts";

export type Bench = {
  /** @throws if it cannot be measured, or what is measured answers wrongly */
  readonly bench: (setting?: string) => Promise<Figure | readonly Figure[]>;
};

/** In the order of the page. */
export const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
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
  replica: () => import("./replica.ts"),
  past: () => import("./past.ts"),
  growth: () => import("./growth.ts"),
  streams: () => import("./streams.ts"),
  rest: () => import("./rest.ts"),
  callbacks: () => import("./callbacks.ts"),
  ta: () => import("./ta.ts"),
  retention: () => import("./retention.ts"),
  replay: () => import("./replay.ts"),
};
