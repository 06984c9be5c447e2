/** Whether a replay's rows still give the roots that were published: those are permanent. */
import type { Database } from "../../database/connect.ts";
import { REPLAY_SCHEMA } from "../../database/work-schemas.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { createFindings } from "./findings.ts";
import { readIndexedMeta } from "./own-digests.ts";
import { reconcileRoots } from "./roots.ts";
import { tokenTypes } from "./sums.ts";

/**
 * Published roots that the replayed rows contradict, one line each, the first hundred. Of tokens with many roots
 * some are compared, as by `reconcile`.
 */
export const contradictedRoots = async (
  database: Database,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  // Tables that no replay has made are the served ones. Nothing is written here.
  const search_path = `${REPLAY_SCHEMA}, public`;
  await using session = await database.session({ runtime: { search_path } });
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
