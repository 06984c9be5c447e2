import { holderLifecyclePipeline } from "./holder-lifecycle.ts";
import type { Pipeline } from "./pipeline.ts";
import { roleChangesPipeline } from "./role-changes.ts";
import { sharedTokenObjectsPipeline } from "./shared-token-objects.ts";
import { timelockObjectsPipeline } from "./timelock-objects.ts";
import { tokenActivityPipeline } from "./token-activity.ts";

/** The pipelines over the Sui ledger's log, in the order `indexerStatus` lists them. */
export const ledgerPipelines: readonly Pipeline[] = [
  tokenActivityPipeline,
  sharedTokenObjectsPipeline,
  timelockObjectsPipeline,
  holderLifecyclePipeline,
  roleChangesPipeline,
];
