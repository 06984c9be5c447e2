/** Two tables per pipeline: its progress, and the digests of its rows. */
import { integer, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { at, bytea, int8 } from "../database/column-types.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Layout that added the history tables. */
export const LAYOUT_WITH_PAST = 2;

/** Layout that added digests. */
export const LAYOUT_WITH_DIGESTS = 3;

/**
 * Current layout; part of every digest. Raise it when a pipeline gets a table or makes other rows; the table
 * is then filled from the log (`replay/fill-added.ts`).
 */
export const LAYOUT = LAYOUT_WITH_DIGESTS;

/**
 * `<name>_watermark`: the pipeline's progress, one row, moved in the transaction that writes its
 * rows. `registerPipeline` inserts it on the first run, with the log's first checkpoint.
 */
export const watermarkTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_watermark`, {
    /** A key, so that there is one row at most. */
    pipeline: text("pipeline").primaryKey(),
    /** Chain of the rows; null while the source did not report one. */
    chainId: text("chain_id"),
    /** Next expected checkpoint: the rows contain all below it. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** Last committed checkpoint, its digest and time (Unix ms); null before the first. */
    lastCheckpoint: int8("last_checkpoint"),
    lastDigest: text("last_digest"),
    lastTimestampMs: int8("last_timestamp_ms"),
    /**
     * Layout for which the rows are complete. Below the pipeline's own while an upgrade's tables
     * are filled from the log.
     */
    layout: integer("layout").notNull().default(1),
    /**
     * Last checkpoint filled into added tables, updated once a second; initially the one before the
     * log begins. Null when nothing is being filled.
     */
    filledCheckpoint: int8("filled_checkpoint"),
    /** Over all rows up to `last_checkpoint` (digests.ts); null before it and during a fill. */
    digest: bytea("digest"),
    /** Coins whose facts could not be applied, by coin type (held-coins.ts); null when none is held. */
    held: jsonb("held"),
    /**
     * First checkpoint without digests: since a coin was held, until they are filled in after its release. `digest`
     * is then that of the checkpoint before. Null when all have one.
     */
    undigestedFrom: int8("undigested_from"),
    /**
     * Target checkpoint of a rebuild; null if none. Until then answers that need these rows are
     * refused: see guarded-reads.ts.
     */
    rebuildingTo: int8("rebuilding_to"),
    /** Number of rebuilds and exchanges; each invalidates cached results, and batches in hand. */
    rebuilds: integer("rebuilds").notNull().default(0),
    /** Time of the last move, by the database's clock. */
    committedAt: at("committed_at").notNull().defaultNow(),
  });

/** `<name>_digests`: one row per checkpoint that wrote rows. */
const digestTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_digests`, {
    checkpoint: int8("checkpoint").primaryKey(),
    /** 32 bytes. */
    digest: bytea("digest").notNull(),
  });

export type WatermarkTable = ReturnType<typeof watermarkTable>;
type DigestTable = ReturnType<typeof digestTable>;

export type ProgressTables = {
  readonly name: string;
  readonly watermark: WatermarkTable;
  readonly digests: DigestTable;
  readonly layout: number;
  /** Layout from which it answers queries about the past. */
  readonly pastSince: number;
};

/**
 * Declares a pipeline's two tables. The caller also exports each of them: drizzle-kit makes
 * migrations from exported tables only.
 */
export const progressTables = <Name extends string>(
  name: Name,
  { pastSince = LAYOUT_WITH_PAST }: { readonly pastSince?: number } = {},
) => ({
  name,
  watermark: watermarkTable(name),
  digests: digestTable(name),
  layout: LAYOUT,
  pastSince,
});

/**
 * Another writer moved this watermark first; the transaction rolled back. Two processes run one
 * pipeline: stop this one and alert.
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

/**
 * The tables that a batch was made from were exchanged for a replay's, or got the facts of a held coin; the transaction
 * rolled back. The pipeline reads its watermark again and goes on.
 */
export class TablesExchangedError extends Error {
  override readonly name = "TablesExchangedError";
  readonly remedy: Remedy = "retry";

  constructor(pipeline: string) {
    super(
      `${pipeline}: the tables were exchanged for those of a replay, or a held coin was released`,
    );
  }
}

/**
 * A newer version has filled the pipeline's tables: this one would write rows of its own kind into them. Stop this
 * process; the newer one takes the pipeline over.
 */
export class LayoutAheadError extends Error {
  override readonly name = "LayoutAheadError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string) {
    super(
      `${pipeline}: a newer version of the service has changed its tables; end this process, or start it with that version`,
    );
  }
}
