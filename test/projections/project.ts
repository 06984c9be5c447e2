import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline, resetPipeline } from "../../src/pipelines/register.ts";
import { batchOf, type SaidCheckpoint, wantedBy } from "../pipelines/token-facts.ts";
import type { TestDatabase } from "../postgres.ts";
import { cut } from "./random-history.ts";

/** Rebuilds all five pipelines from empty tables at once, each with its own batches. */
export const project = async (
  database: TestDatabase,
  checkpoints: readonly SaidCheckpoint[],
  batchings: readonly (readonly boolean[])[],
): Promise<void> => {
  const nextCheckpoint = BigInt(checkpoints.length);
  const log = { chainId: null, packages: [], firstCheckpoint: 0n, nextCheckpoint, last: null };
  await Promise.all(
    ledgerPipelines.map(async (pipeline, index) => {
      await resetPipeline(database, pipeline);
      await registerPipeline(database.sql, pipeline, log);
      for (const batch of cut(checkpoints, batchings[index] ?? []))
        await applyBatch(database, pipeline, wantedBy(pipeline, batchOf(batch)));
    }),
  );
};
