/** Whether a replay's rows still give the roots that were published: those are permanent. */
import type { Database } from "../../database/connect.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { type ReplayPlace, tableNames } from "../../pipelines/replay/tables.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { createFindings } from "./findings.ts";
import { readIndexedMeta } from "./own-digests.ts";
import { reconcileRoots } from "./roots.ts";
import { tokenTypes } from "./sums.ts";

type Replayed = {
  readonly pipelines: readonly Pipeline[];
  readonly place: ReplayPlace;
  readonly signal: AbortSignal;
};

/**
 * Published roots that the replayed rows contradict, one line each, the first hundred. Of tokens with many roots
 * some are compared, as by `reconcile`.
 */
export const contradictedRoots = async (
  database: Database,
  { pipelines, place, signal }: Replayed,
): Promise<readonly string[]> => {
  await using session = await database.session();
  // Temporary views come before tables: the replay's rows of these pipelines, the served ones of others.
  for (const name of tableNames(pipelines)) {
    await session.sql.unsafe(`create temp view ${name} as select * from ${place}.${name}`);
  }
  return await session.transaction(async (tx) => {
    await beginSnapshot(tx);
    const meta = await readIndexedMeta(tx);
    const from = meta.historyCheckpoint ?? meta.firstCheckpoint ?? 0n;
    const range = { chainId: meta.chainId, from, through: meta.last };
    const found = createFindings();
    for (const coinType of await tokenTypes(tx.sql)) {
      signal.throwIfAborted();
      await reconcileRoots(tx, coinType, range, found);
    }
    return found.lines;
  });
};
