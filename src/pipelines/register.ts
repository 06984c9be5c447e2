import { getTableName } from "drizzle-orm";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import { emptyTables } from "../database/table-rows.ts";
import { BEFORE_SCHEMA } from "../database/work-schemas.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { requireFacts } from "../log/facts-archived.ts";
import { type HighWater, markOf } from "../log/high-water.ts";
import { ChainMismatchError } from "../log/log-errors.ts";
import { logHighWater } from "../log/tables.ts";
import { LayoutAheadError, type ProgressTables } from "../projections/progress-tables.ts";
import { noteHolds } from "../projections/quarantines.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { type Pipeline, tablesOf } from "./pipeline.ts";
import { discardRun, dropTables, groupOf, tableNames } from "./replay/tables.ts";

export type WatermarkState = {
  readonly nextCheckpoint: bigint;
  /** The last committed checkpoint; null before the first. */
  readonly last: CheckpointMark | null;
  /** Of the tables that its rows are complete in. */
  readonly layout: number;
  /** Whether it holds coins, or its digests were not filled in after a release. */
  readonly isHolding: boolean;
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
 * Inserts the pipeline's watermark at the log's first checkpoint, or checks the existing one against the log
 * and fills in a missing chain id.
 * @throws ChainMismatchError (stop) when its rows are of another chain
 * @throws WatermarkAheadError (stop)
 * @throws LayoutAheadError (stop)
 */
export const registerPipeline = async (
  sql: Sql,
  pipeline: ProgressTables,
  log: HighWater,
): Promise<WatermarkState> => {
  const table = sql(getTableName(pipeline.watermark));
  await sql`
    insert into ${table} (pipeline, chain_id, next_checkpoint, layout)
    values (${pipeline.name}, ${log.chainId}, ${log.firstCheckpoint}, ${pipeline.layout})
    on conflict (pipeline) do update set chain_id = excluded.chain_id
    where ${table}.chain_id is null and excluded.chain_id is not null`;
  const [row] = await sql<Row[]>`
    select chain_id, next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms, layout,
           held is not null or undigested_from is not null as is_holding
    from ${table} where pipeline = ${pipeline.name}`;
  if (row === undefined) throw new Error(`${pipeline.name}: the watermark lost its row`);
  if (row.chain_id !== null && log.chainId !== null && row.chain_id !== log.chainId) {
    throw new ChainMismatchError(pipeline.name, row.chain_id, log.chainId);
  }
  if (row.next_checkpoint > log.nextCheckpoint) {
    throw new WatermarkAheadError(pipeline.name, row.next_checkpoint, log.nextCheckpoint);
  }
  if (row.layout > pipeline.layout) throw new LayoutAheadError(pipeline.name);
  return {
    nextCheckpoint: row.next_checkpoint,
    last: markOf(row.last_checkpoint, row.last_digest, row.last_timestamp_ms),
    layout: row.layout,
    isHolding: row.is_holding,
  };
};

type Row = {
  chain_id: string | null;
  next_checkpoint: bigint;
  last_checkpoint: bigint | null;
  last_digest: string | null;
  last_timestamp_ms: bigint | null;
  layout: number;
  is_holding: boolean;
};

/**
 * Empties a pipeline and resets its watermark to the log's first checkpoint, in one transaction. Needs the
 * pipeline's writer lock.
 *
 * Answers that need the pipeline are refused until it is back where it was, or at the log's end if that is
 * lower. Rows are deleted, not truncated: an older snapshot would see truncated tables empty beside the old
 * watermark.
 */
export const resetPipeline = (on: Transactor, pipeline: Pipeline): Promise<void> =>
  on.transaction((tx) => resetPipelineIn(tx, pipeline));

/** `resetPipeline` inside a larger transaction. */
export const resetPipelineIn = async (tx: Tx, pipeline: Pipeline): Promise<void> => {
  // Lock first, as every writer does: waits for a running batch, and lets none begin.
  await tx.sql`lock table ${tx.sql(getTableName(pipeline.watermark))} in share row exclusive mode`;
  // Before any row is gone that only the archive could give again.
  await requireFacts(tx.sql, 0n);
  await resetWatermark(tx, pipeline);
  await noteHolds(tx.sql, pipeline);
  await emptyTables(tx.sql, tablesOf(pipeline));
  await pipeline.reset?.(tx);
  await discardRun(tx.sql, [pipeline]);
  // They have rows of checkpoints that the pipeline has yet to reach.
  await dropTables(tx.sql, BEFORE_SCHEMA, tableNames(groupOf(pipeline)));
};

const resetWatermark = async (
  { sql }: Tx,
  { watermark, layout }: ProgressTables,
): Promise<void> => {
  const table = sql(getTableName(watermark));
  const moved = await sql`
    update ${table} as mark set
      chain_id = log.chain_id, next_checkpoint = log.first_checkpoint,
      last_checkpoint = null, last_digest = null, last_timestamp_ms = null, digest = null,
      held = null, undigested_from = null,
      layout = ${layout}, filled_checkpoint = null, rebuilds = mark.rebuilds + 1,
      rebuilding_to = (
        select least(greatest(mark.rebuilding_to, mark.last_checkpoint), log.next_checkpoint - 1)
        where coalesce(mark.rebuilding_to, mark.last_checkpoint) is not null
          and log.next_checkpoint > log.first_checkpoint),
      committed_at = clock_timestamp()
    from ${sql(getTableName(logHighWater))} as log
    returning 1`;
  // Without a log there is no first checkpoint.
  if (moved.length === 0) await sql`delete from ${table}`;
};

/** Frees the disk space of deleted rows that no snapshot sees. Runs outside a transaction. */
export const vacuumPipeline = async (
  on: Transactor,
  pipeline: Pick<Pipeline, "tables" | "digests">,
): Promise<void> => {
  const tables = tablesOf(pipeline).map(getTableName);
  await on.statement((sql) => sql.unsafe(`vacuum ${tables.join(", ")}`));
};
