/** Reads the progress of the log and the pipelines. */
import { getTableName } from "drizzle-orm";
import { type Reads, read } from "../database/readers.ts";
import { BULK_NOW, bulkIn } from "../log/process-notes.ts";
import { logHighWater } from "../log/tables.ts";
import { PAUSED_PIPELINES } from "../pauses/pauses.ts";
import type { BulkProgress } from "../values/bulk-progress.ts";
import { NO_ROWS, shownDigest } from "./digests.ts";
import { type HeldIn, heldIn, heldInPipeline } from "./held-coins.ts";
import { COMPLETENESS, INCOMPLETE_HELD } from "./incomplete-coins.ts";
import { LAYOUT_WITH_DIGESTS, type ProgressTables } from "./progress-tables.ts";
import { IS_RUNNING, REBUILDING, type Rebuilding, rebuildingIn, replaysTable } from "./replays.ts";

/** Last checkpoint processed. */
export type Mark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** A pipeline's watermark, or the log's high-water mark; checkpoint and time are null together. */
type Row = {
  readonly name: string;
  readonly next: bigint;
  readonly checkpoint: bigint | null;
  readonly timestampMs: bigint | null;
  readonly filled: bigint | null;
  readonly rebuildingTo: bigint | null;
  readonly digest: string | null;
  readonly layout: number;
  readonly undigested: boolean;
  readonly held: string | null;
  readonly rebuilding: string | null;
  readonly paused: string | null;
  /** Of the log alone. */
  readonly incomplete: string | null;
  readonly bulk: string | null;
};

/** A pipeline's progress, for `indexerStatus` and the health report; that of a far range is the log's. */
export type Watermark = {
  readonly pipeline: string;
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Last checkpoint filled into an upgrade's tables; null when none is being filled. */
  readonly filledThrough: bigint | null;
  /** Target checkpoint of a rebuild; null if none. */
  readonly rebuildingTo: bigint | null;
  /** Over all rows, hex without 0x; null before the first checkpoint, during a fill, and from a held coin's checkpoint on. */
  readonly digest: string | null;
  /** Coins in quarantine. */
  readonly quarantined: readonly HeldIn[];
  /** Progress of a replay beside the served rows; null when none runs. */
  readonly rebuilding: Rebuilding | null;
  /** Since when an operator pauses it, ISO 8601; null while it is not paused. */
  readonly pausedSince: string | null;
} & BulkProgress;

/** Before a pipeline's name: progress of its replay, and its pause. */
const REPLAY = "replay ";
const PAUSE = "pause ";

/**
 * Reads these watermarks and, under an empty name, the log's high-water mark. Each table has one
 * row: an index lookup by name would take a third longer, and looking up a replay at each watermark twice as long.
 */
const statementFor = (pipelines: readonly ProgressTables[]): string =>
  [
    `select '' as name, ${MARK}, null::int8 as filled, null::int8 as "rebuildingTo", null as digest, 0 as layout, false as undigested, null as held, null as rebuilding, ${INCOMPLETE_HELD}::text as incomplete, ${BULK_NOW} as bulk, null as paused from ${getTableName(logHighWater)}`,
  ]
    .concat(
      pipelines.map(
        ({ watermark }) =>
          `select pipeline, ${MARK}, filled_checkpoint, rebuilding_to, encode(digest, 'hex'), layout, undigested_from is not null, held::text, null, null, null, null from ${getTableName(watermark)}`,
      ),
      `select '${REPLAY}' || pipeline, null, null, null, null, null, null, 0, false, null, ${REBUILDING}, null, null, null
       from ${getTableName(replaysTable)} where ${IS_RUNNING}`,
      `select '${PAUSE}' || name, null, null, null, null, null, null, 0, false, null, null, null, null, paused_since
       from (${PAUSED_PIPELINES}) as paused`,
    )
    .join(" union all ");

const MARK =
  'next_checkpoint as next, last_checkpoint as checkpoint, last_timestamp_ms as "timestampMs"';

const statements = new WeakMap<readonly ProgressTables[], string>();

export type Watermarks = {
  readonly log: Watermark;
  readonly pipelines: readonly Watermark[];
  /** Incomplete coins, as if `completeness` were a pipeline that holds them. */
  readonly incomplete: readonly HeldIn[];
};

/** Watermarks of these pipelines, in order, and the log's high-water mark, in one statement. */
export const readWatermarks = async (
  on: Reads,
  pipelines: readonly ProgressTables[],
): Promise<Watermarks> => {
  const text = statements.get(pipelines) ?? statementFor(pipelines);
  statements.set(pipelines, text);
  const found = new Map((await read<Row>(on, text, [])).map((row) => [row.name, row]));
  const { incomplete = null, bulk = null } = found.get("") ?? {};
  const watermark = (pipeline: string): Watermark => {
    const row = found.get(pipeline);
    return {
      pipeline,
      next: row?.next ?? null,
      mark: row === undefined ? null : markOf(row),
      filledThrough: row?.filled ?? null,
      rebuildingTo: row?.rebuildingTo ?? null,
      digest: row === undefined ? null : digestIn(row),
      quarantined: heldInPipeline(pipeline, heldIn(row?.held ?? null)),
      rebuilding: rebuildingIn(found.get(`${REPLAY}${pipeline}`)?.rebuilding ?? null),
      pausedSince: found.get(`${PAUSE}${pipeline}`)?.paused ?? null,
      ...bulkIn(bulk),
    };
  };
  return {
    log: watermark(""),
    pipelines: pipelines.map(({ name }) => watermark(name)),
    incomplete: heldInPipeline(COMPLETENESS, heldIn(incomplete)),
  };
};

/** A pipeline that committed checkpoints without rows has a digest, too. */
const digestIn = ({ checkpoint, digest, layout, undigested }: Row): string | null =>
  checkpoint === null || layout < LAYOUT_WITH_DIGESTS || undigested
    ? null
    : (digest ?? shownDigest(NO_ROWS));

const markOf = ({ checkpoint, timestampMs }: Row): Mark | null =>
  checkpoint === null || timestampMs === null ? null : { checkpoint, timestampMs };
