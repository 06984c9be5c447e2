/** How far a pipeline is, and the digests of its rows: two tables for each pipeline. */
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { at, bytea, int8 } from "../database/column-types.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** The layout that added the tables of the past. */
export const LAYOUT_WITH_PAST = 2;

/** The layout that added digests. */
export const LAYOUT_WITH_DIGESTS = 3;

/**
 * The layout of this version. It is part of every digest. A version that adds a table to a pipeline raises it;
 * the table is then filled from the log (`refill.ts`).
 */
export const LAYOUT = LAYOUT_WITH_DIGESTS;

/**
 * `<name>_watermark`: one row that says how far the pipeline is, moved in the transaction that writes the
 * pipeline's rows. `registerPipeline` makes the row on the first run, with the log's first checkpoint.
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
     * The layout for which the rows are complete. Below the pipeline's own after an upgrade that added tables,
     * until these are filled from the log.
     */
    layout: integer("layout").notNull().default(1),
    /**
     * Last checkpoint that was filled into added tables, updated once a second; at the start the one before the
     * log begins. Null when nothing is being filled in.
     */
    filledCheckpoint: int8("filled_checkpoint"),
    /** Digest over all rows up to `last_checkpoint` (digests.ts); null before the first, and while they fill. */
    digest: bytea("digest"),
    /**
     * Target checkpoint of a rebuild; null when none is under way. Until it is reached the rows are those of an
     * earlier checkpoint, and answers that need them are refused: see guarded-reads.ts.
     */
    rebuildingTo: int8("rebuilding_to"),
    /** Number of rebuilds: whatever was cached before the last one is invalid. */
    rebuilds: integer("rebuilds").notNull().default(0),
    /** When the row was last moved, by the database's clock. */
    committedAt: at("committed_at").notNull().defaultNow(),
  });

/** `<name>_digests`: one row for each checkpoint that gave the pipeline rows. */
const digestTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_digests`, {
    checkpoint: int8("checkpoint").primaryKey(),
    /** 32 bytes. */
    digest: bytea("digest").notNull(),
  });

export type WatermarkTable = ReturnType<typeof watermarkTable>;
export type DigestTable = ReturnType<typeof digestTable>;

/** A pipeline as its readers know it. */
export type ProgressTables = {
  /** As `indexerStatus` shows it. */
  readonly name: string;
  readonly watermark: WatermarkTable;
  readonly digests: DigestTable;
  readonly layout: number;
  /** The layout from which on it answers questions about the past. */
  readonly pastSince: number;
};

/**
 * Declares the two tables of a pipeline. The file that calls it exports both by themselves, too: drizzle-kit
 * makes migrations from exported tables only.
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
