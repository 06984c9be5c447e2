/** A ledger without facts, of which all pipelines commit one checkpoint after another. */
import type { Database } from "../../src/database/connect.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline } from "../../src/pipelines/register.ts";
import { batchOf, wantedBy } from "../pipelines/token-facts.ts";

export type SmallLedger = {
  /** Commits the next checkpoint in every pipeline, and returns it. */
  advance(): Promise<bigint>;
};

/** From checkpoint 0 on. */
export const ledgerOf = async (database: Database): Promise<SmallLedger> => {
  const log = { chainId: null, packages: [], firstCheckpoint: 0n, nextCheckpoint: 0n, last: null };
  for (const pipeline of ledgerPipelines) await registerPipeline(database.sql, pipeline, log);
  let next = 0n;
  return {
    advance: async () => {
      const sequence = next;
      next += 1n;
      for (const pipeline of ledgerPipelines) {
        const batch = batchOf([{ sequence, transactions: [] }]);
        await applyBatch(database, pipeline, wantedBy(pipeline, batch));
      }
      return sequence;
    },
  };
};
