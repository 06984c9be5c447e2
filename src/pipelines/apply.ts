import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import { NOTHING, type Writing, writeAfter } from "../database/writing.ts";
import type { FactBatch } from "../log/fact.ts";
import { WatermarkMovedError } from "../projections/watermark.ts";
import type { RunnablePipeline } from "./pipeline.ts";

/**
 * Applies one batch: rows and watermark together, compare-and-set on the next checkpoint. A batch of few
 * rows is one statement, one of many a transaction. Returns how many rows it made.
 *
 * @param on the session that holds the pipeline's lock, or (in tests and tools) any database
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws UndecodableFactError (stop) before anything is written
 */
export const applyBatch = async (
  on: Transactor,
  pipeline: RunnablePipeline,
  batch: FactBatch,
): Promise<number> => {
  const rows = await pipeline.prepare(batch.facts, on);
  const moving = moveWatermark(pipeline, batch);
  const atOnce = rows.atOnce(moving.given.length + 1);
  const move = async (sql: Sql, writing: Writing) => {
    const moved = await writeAfter(sql, moving, writing);
    if (!moved) throw new WatermarkMovedError(pipeline.name, batch.first);
  };
  if (atOnce !== undefined) await on.statement((sql) => move(sql, atOnce));
  else {
    await on.transaction(async (tx) => {
      // The watermark first: a second writer queues on its row. The rows follow without waiting for the
      // answer, one round trip less; when the watermark had moved, both are rolled back. Neither may
      // still be running by then, hence allSettled.
      const [moved, written] = await Promise.allSettled([move(tx.sql, NOTHING), rows.write(tx)]);
      if (moved.status === "rejected") throw moved.reason;
      if (written.status === "rejected") throw written.reason;
    });
  }
  return rows.count;
};

const moveWatermark = ({ name, watermark }: RunnablePipeline, { first, last }: FactBatch) => ({
  mark: `
    update ${getTableName(watermark)}
    set next_checkpoint = $1, last_checkpoint = $2, last_digest = $3, last_timestamp_ms = $4,
        committed_at = clock_timestamp()
    where pipeline = $5 and next_checkpoint = $6
    returning 1`,
  given: [last.sequence + 1n, last.sequence, last.digest, last.timestampMs, name, first],
});
