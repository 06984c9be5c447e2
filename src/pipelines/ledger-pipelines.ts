import type { Pipeline } from "./pipeline.ts";

/** The pipelines over the Sui ledger's log, one line each, in the order `indexerStatus` lists them. */
export const ledgerPipelines: readonly Pipeline[] = [
  (await import("./token-activity.ts")).tokenActivityPipeline,
  (await import("./shared-token-objects.ts")).sharedTokenObjectsPipeline,
  (await import("./timelock-objects.ts")).timelockObjectsPipeline,
  (await import("./holder-lifecycle.ts")).holderLifecyclePipeline,
  (await import("./role-changes.ts")).roleChangesPipeline,
];
