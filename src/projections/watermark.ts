import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { at, bytea, int8 } from "../database/column-types.ts";
import type { Remedy } from "../waiting/remedy.ts";

/**
 * The table that says how far a pipeline is: `<name>_watermark`, one row, moved in the transaction
 * that writes the pipeline's rows.
 *
 * The row is made when the pipeline is first run (`registerPipeline`), with the log's first checkpoint.
 */
export const watermarkTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_watermark`, {
    /** Name of the pipeline; a key so that there is one row at most. */
    pipeline: text("pipeline").primaryKey(),
    /** Chain the rows come from; null while the source could not tell. */
    chainId: text("chain_id"),
    /** Next checkpoint the pipeline expects: every one below is in its rows. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** Last committed checkpoint, its digest and time (ms since the Unix epoch); null before the first. */
    lastCheckpoint: int8("last_checkpoint"),
    lastDigest: text("last_digest"),
    lastTimestampMs: int8("last_timestamp_ms"),
    /**
     * Layout of the pipeline's tables that its rows are complete in: behind the pipeline's own after an
     * upgrade that added tables, until they are filled from the log.
     */
    layout: integer("layout").notNull().default(1),
    /**
     * Last checkpoint that filling them has dealt with, told once a second; at the start the one before the
     * log begins. Null when nothing is being filled in.
     */
    filledCheckpoint: int8("filled_checkpoint"),
    /** Digest over all rows up to `last_checkpoint` (digests.ts); null before the first, and while they fill. */
    digest: bytea("digest"),
    /**
     * The checkpoint that a rebuild has to come back to; null when none is under way. Until then its rows are
     * those of an earlier checkpoint, and answers that need them are refused: see guarded-reads.ts.
     */
    rebuildingTo: int8("rebuilding_to"),
    /** How often it was rebuilt: what was read before is not to be used any more. */
    rebuilds: integer("rebuilds").notNull().default(0),
    /** When the row was last moved, by the database's clock. */
    committedAt: at("committed_at").notNull().defaultNow(),
  });

/** A watermark's table, whatever the pipeline. */
export type WatermarkTable = ReturnType<typeof watermarkTable>;

/**
 * Another writer moved this watermark first; our transaction rolled back.
 * Two processes run one pipeline: stop this one and alert.
 */
export class WatermarkMovedError extends Error {
  override readonly name = "WatermarkMovedError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string, checkpoint: bigint) {
    super(
      `${pipeline}: the watermark no longer expects checkpoint ${checkpoint}; another process runs this pipeline`,
    );
  }
}
