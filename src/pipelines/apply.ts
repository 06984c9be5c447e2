import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import type { FactBatch } from "../log/fact.ts";
import type { PreparedRows, RunnablePipeline } from "./pipeline.ts";
import { WatermarkMovedError } from "./watermark.ts";

/** Where a pipeline writes: the session that holds its lock, or (in tests and tools) any database. */
export type PipelineWriter = Transactor & { readonly sql: Sql };

/**
 * Applies one batch: rows and watermark in one transaction, compare-and-set on the next checkpoint.
 * A batch that makes no rows is one statement. Returns how many rows it made.
 *
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws UndecodableFactError (stop) before anything is written
 */
export const applyBatch = async (
  writer: PipelineWriter,
  pipeline: RunnablePipeline,
  batch: FactBatch,
): Promise<number> => {
  const rows = pipeline.prepare(batch.facts);
  if (rows.count === 0) await moveWatermark(writer.sql, pipeline, batch);
  else await writer.transaction((tx) => moveAndWrite(tx, pipeline, batch, rows));
  return rows.count;
};

const moveAndWrite = async (
  tx: Parameters<PreparedRows["write"]>[0],
  pipeline: RunnablePipeline,
  batch: FactBatch,
  rows: PreparedRows,
) => {
  // The watermark first: a second writer queues on its row. The rows follow without waiting for the
  // answer, one round trip less; when the watermark had moved, both are rolled back. Neither may still
  // be running by then, hence allSettled.
  const [moved, written] = await Promise.allSettled([
    moveWatermark(tx.sql, pipeline, batch),
    rows.write(tx),
  ]);
  if (moved.status === "rejected") throw moved.reason;
  if (written.status === "rejected") throw written.reason;
};

const moveWatermark = async (sql: Sql, pipeline: RunnablePipeline, { first, last }: FactBatch) => {
  // Sent at once: what only begins to be awaited leaves after statements that are executed.
  const { count } = await sql`
    update ${sql(getTableName(pipeline.watermark))}
    set next_checkpoint = ${last.sequence + 1n}, last_checkpoint = ${last.sequence},
        last_digest = ${last.digest}, last_timestamp_ms = ${last.timestampMs},
        committed_at = clock_timestamp()
    where pipeline = ${pipeline.name} and next_checkpoint = ${first}`.execute();
  if (count !== 1) throw new WatermarkMovedError(pipeline.name, first);
};
