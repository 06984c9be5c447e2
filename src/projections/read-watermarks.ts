/** Reads how far the log and the pipelines are. */
import { getTableName } from "drizzle-orm";
import { type Reads, read } from "../database/readers.ts";
import { logHighWater } from "../log/tables.ts";
import { NO_ROWS } from "./digest-lines.ts";
import { shownDigest } from "./digests.ts";
import { LAYOUT_WITH_DIGESTS, type ProgressTables } from "./progress-tables.ts";

/** The last checkpoint that was dealt with. */
export type Mark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** One row of a watermark's table, or the log's high-water mark; both last ones are null together. */
type Row = {
  readonly name: string;
  readonly next: bigint;
  readonly checkpoint: bigint | null;
  readonly timestampMs: bigint | null;
  readonly filled: bigint | null;
  readonly rebuildingTo: bigint | null;
  readonly digest: string | null;
  readonly layout: number;
};

/** Where a pipeline stands: `indexerStatus` and the health report are made of these. */
export type Watermark = {
  readonly pipeline: string;
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Last checkpoint up to which tables that an upgrade added are filled in; null when none is being. */
  readonly filledThrough: bigint | null;
  /** The checkpoint that a rebuild has to come back to; null when none is under way. */
  readonly rebuildingTo: bigint | null;
  /** Of all its rows, hex without 0x; null while there are no rows to speak of, or digests are filled in. */
  readonly digest: string | null;
};

/**
 * The statement that reads these watermarks and, under an empty name, the log's high-water mark. Each
 * table has one row: finding it by its name, in an index, would take a third longer.
 */
const statementFor = (pipelines: readonly ProgressTables[]): string =>
  [
    `select '' as name, ${MARK}, null::int8 as filled, null::int8 as "rebuildingTo", null as digest, 0 as layout from ${getTableName(logHighWater)}`,
  ]
    .concat(
      pipelines.map(
        ({ watermark }) =>
          `select pipeline, ${MARK}, filled_checkpoint, rebuilding_to, encode(digest, 'hex'), layout from ${getTableName(watermark)}`,
      ),
    )
    .join(" union all ");

const MARK =
  'next_checkpoint as next, last_checkpoint as checkpoint, last_timestamp_ms as "timestampMs"';

const statements = new WeakMap<readonly ProgressTables[], string>();

/** Watermarks of these pipelines, in their order, and the log's high-water mark: one statement. */
export const readWatermarks = async (
  on: Reads,
  pipelines: readonly ProgressTables[],
): Promise<{ readonly log: Watermark; readonly pipelines: readonly Watermark[] }> => {
  const text = statements.get(pipelines) ?? statementFor(pipelines);
  statements.set(pipelines, text);
  const found = new Map((await read<Row>(on, text, [])).map((row) => [row.name, row]));
  const watermark = (pipeline: string): Watermark => {
    const row = found.get(pipeline);
    return {
      pipeline,
      next: row?.next ?? null,
      mark: row === undefined ? null : markOf(row),
      filledThrough: row?.filled ?? null,
      rebuildingTo: row?.rebuildingTo ?? null,
      digest: row === undefined ? null : digestIn(row),
    };
  };
  return { log: watermark(""), pipelines: pipelines.map(({ name }) => watermark(name)) };
};

/** A pipeline that has committed checkpoints, none of which gave it rows, has a digest, too. */
const digestIn = ({ checkpoint, digest, layout }: Row): string | null =>
  checkpoint === null || layout < LAYOUT_WITH_DIGESTS ? null : (digest ?? shownDigest(NO_ROWS));

/** Both are null before the first checkpoint, and neither ever again. */
const markOf = ({ checkpoint, timestampMs }: Row): Mark | null =>
  checkpoint === null || timestampMs === null ? null : { checkpoint, timestampMs };
