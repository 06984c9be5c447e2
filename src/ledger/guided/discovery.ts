import type { Findings } from "./findings.ts";
import type { Intake } from "./intake.ts";
import type { DiscoverOptions } from "./options.ts";
import type { Report } from "./report.ts";
import type { Searches } from "./search.ts";

/** What the steps of discovery share. */
export type Discovery = Pick<DiscoverOptions, "index" | "source" | "range"> & {
  readonly findings: Findings;
  readonly searches: Searches;
  readonly intake: Intake;
  readonly report: Report;
  /** Checkpoint that published the contract's original package. */
  readonly began: bigint;
  readonly signal: AbortSignal;
};
