import { getTableName } from "drizzle-orm";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { type HighWater, markOf } from "../log/high-water.ts";
import { ChainMismatchError } from "../log/log-errors.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { RunnablePipeline } from "./pipeline.ts";

/** Where a pipeline stands. */
export type WatermarkState = {
  readonly nextCheckpoint: bigint;
  /** The last committed checkpoint; null before the first. */
  readonly last: CheckpointMark | null;
  /** Of the tables that its rows are complete in. */
  readonly layout: number;
};

/**
 * The pipeline has rows of checkpoints the log does not hold: the two were restored from different
 * backups. Stop; rebuild the pipeline (`resetPipeline`).
 */
export class WatermarkAheadError extends Error {
  override readonly name = "WatermarkAheadError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string, next: bigint, logNext: bigint) {
    super(
      `${pipeline}: expects checkpoint ${next}, but the log ends before ${logNext}; rebuild this pipeline from the log`,
    );
  }
}

/**
 * Makes the pipeline's watermark row, at the log's first checkpoint, or holds the one it has against
 * the log. A chain id that was unknown is filled in.
 * @throws ChainMismatchError (stop) when its rows are of another chain
 * @throws WatermarkAheadError (stop)
 */
export const registerPipeline = async (
  sql: Sql,
  pipeline: RunnablePipeline,
  log: HighWater,
): Promise<WatermarkState> => {
  const table = sql(getTableName(pipeline.watermark));
  await sql`
    insert into ${table} (pipeline, chain_id, next_checkpoint, layout)
    values (${pipeline.name}, ${log.chainId}, ${log.firstCheckpoint}, ${pipeline.layout})
    on conflict (pipeline) do update set chain_id = excluded.chain_id
    where ${table}.chain_id is null and excluded.chain_id is not null`;
  const [row] = await sql<Row[]>`
    select chain_id, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms, layout
    from ${table} where pipeline = ${pipeline.name}`;
  if (row === undefined) throw new Error(`${pipeline.name}: the watermark lost its row`);
  if (row.chain_id !== null && log.chainId !== null && row.chain_id !== log.chainId) {
    throw new ChainMismatchError(pipeline.name, row.chain_id, log.chainId);
  }
  if (row.next_checkpoint > log.nextCheckpoint) {
    throw new WatermarkAheadError(pipeline.name, row.next_checkpoint, log.nextCheckpoint);
  }
  return {
    nextCheckpoint: row.next_checkpoint,
    last: markOf(row.last_checkpoint, row.last_digest, row.last_timestamp_ms),
    layout: row.layout,
  };
};

type Row = {
  chain_id: string | null;
  next_checkpoint: bigint;
  last_checkpoint: bigint | null;
  last_digest: string | null;
  last_timestamp_ms: bigint | null;
  layout: number;
};

/**
 * Empties a pipeline and puts its watermark back to the log's first checkpoint, in one transaction:
 * the way to replay. Running it needs the pipeline's writer lock.
 */
export const resetPipeline = (on: Transactor, pipeline: RunnablePipeline): Promise<void> =>
  on.transaction((tx) => resetPipelineIn(tx, pipeline));

/** The same inside a transaction that does more. */
export const resetPipelineIn = async (tx: Tx, pipeline: RunnablePipeline): Promise<void> => {
  // The table first, as every writer does: a batch under way is waited for, and none begins.
  await tx.sql`lock table ${tx.sql(getTableName(pipeline.watermark))} in share row exclusive mode`;
  await tx.sql`delete from ${tx.sql(getTableName(pipeline.watermark))}`;
  await pipeline.reset(tx);
  if (pipeline.digests !== undefined) {
    await tx.sql`truncate ${tx.sql(getTableName(pipeline.digests))}`;
  }
  await dropFilling(tx.sql, pipeline);
};

/** Where tables that an upgrade added are filled: see refill.ts. */
export const fillingSchema = ({ name }: RunnablePipeline): string => `filling_${name}`;

/** Forgets what was filled so far: a pipeline that begins anew fills all its tables by itself. */
export const dropFilling = async (sql: Sql, pipeline: RunnablePipeline): Promise<void> => {
  await sql`drop schema if exists ${sql(fillingSchema(pipeline))} cascade`;
};
