/** Checks watermarks against the log and the pipelines' rows. */
import { getTableName } from "drizzle-orm";
import type { Db } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { markOf } from "../../log/high-water.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { partsOf } from "../../pipelines/stored-rows.ts";
import { NO_ROWS, shownDigest } from "../../projections/digests.ts";
import { type HeldIn, heldIn, heldInPipeline } from "../../projections/held-coins.ts";
import { LAYOUT_WITH_DIGESTS } from "../../projections/progress-tables.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { addFound, type Findings } from "./findings.ts";

type Row = {
  readonly chainId: string | null;
  readonly logChainId: string | null;
  readonly next: bigint;
  readonly last: bigint | null;
  readonly digestOfLast: string | null;
  readonly timestampMs: bigint | null;
  readonly layout: number;
  readonly digest: Buffer | null;
  readonly newestDigest: Buffer | null;
  readonly logNext: bigint | null;
  readonly logFirst: bigint | null;
  readonly held: string | null;
  readonly undigestedFrom: bigint | null;
};

/** A pipeline's progress in this snapshot. */
type PipelineProgress = {
  readonly layout: number;
  /** The rows contain every checkpoint below. */
  readonly next: bigint;
  /** Why parts cannot be compared with the log; empty when all can. */
  readonly notShown: readonly string[];
  readonly held: readonly HeldIn[];
  /** First checkpoint without digests, because a coin is or was held; null if all have theirs. */
  readonly undigestedFrom: bigint | null;
};

/** Checkpoints a pipeline may lag without a finding. */
const MOST_BEHIND = 100n;

const read = async ({ sql }: Db, pipeline: Pipeline): Promise<Row | undefined> => {
  const { digests, watermark } = pipeline;
  const [row] = await sql.unsafe<Row[]>(`
    select w.chain_id as "chainId", log.chain_id as "logChainId", w.next_checkpoint as next, w.last_checkpoint as last, w.last_digest as "digestOfLast",
           w.last_timestamp_ms as "timestampMs", w.layout, w.digest,
           (select d.digest from ${getTableName(digests)} d
            order by d.checkpoint desc limit 1) as "newestDigest",
           w.held::text as held, w.undigested_from as "undigestedFrom", log.next_checkpoint as "logNext", log.first_checkpoint as "logFirst"
    from ${getTableName(watermark)} w left join log_high_water log on true`);
  return row;
};

/** Checks a watermark against the log alone, with a few look-ups. Null: never run. */
export const reconcileWatermark = async (
  db: Db,
  pipeline: Pipeline,
  found: Findings,
): Promise<PipelineProgress | null> => {
  const row = await read(db, pipeline);
  if (row === undefined) return null;
  const { chainId, logChainId, next, last, layout, logNext, logFirst, undigestedFrom } = row;
  const table = getTableName(pipeline.watermark);
  const notShown: string[] = [];
  // Null until a source reported one.
  if (chainId !== logChainId && chainId !== null) {
    found.add(`${table}: chain_id is ${chainId}, but the log is of chain ${logChainId}`);
  }
  const expected = last === null ? logFirst : last + 1n;
  if (expected !== null && next !== expected) {
    found.add(
      `${table}: next_checkpoint is ${next}, but last_checkpoint ${last} makes it ${expected}`,
    );
  }
  if (logNext !== null && next > logNext) {
    found.add(`${table}: next_checkpoint is ${next}, but the log ends before ${logNext}`);
  }
  const behind = (logNext ?? next) - next;
  if (behind > MOST_BEHIND) {
    notShown.push(
      `${pipeline.name} is ${behind} checkpoints behind the log: facts from checkpoint ${next} on have no rows yet`,
    );
  }
  const mark = markOf(last, row.digestOfLast, row.timestampMs);
  const known = mark && (await checkpointMark(db, mark.sequence));
  if (mark !== null && known === null) {
    notShown.push(
      `${table}: its last time and digest, because log_blocks lacks checkpoint ${last} (verify --log)`,
    );
  }
  if (mark !== null && known !== null) {
    if (mark.digest !== known.digest) {
      found.add(
        `${table}: last_digest is ${mark.digest}, but checkpoint ${last} has ${known.digest}`,
      );
    }
    if (mark.timestampMs !== known.timestampMs) {
      found.add(
        `${table}: last_timestamp_ms is ${mark.timestampMs}, but checkpoint ${last} has ${known.timestampMs}`,
      );
    }
  }
  if (layout < LAYOUT_WITH_DIGESTS) {
    notShown.push(
      `${pipeline.name}: by its watermark (layout ${layout} instead of ${pipeline.layout}) its tables are still being filled in`,
    );
  } else {
    const [is, rows] = [row.digest ?? NO_ROWS, row.newestDigest ?? NO_ROWS];
    if (!Buffer.from(is).equals(rows)) {
      found.add(
        `${table}: digest is ${shownDigest(is)}, but the last of ${getTableName(pipeline.digests)} is ${shownDigest(rows)}`,
      );
    }
  }
  const held = heldInPipeline(pipeline.name, heldIn(row.held));
  return { layout, next, notShown, held, undigestedFrom };
};

/** Finds rows beyond the watermark; reads whole tables. */
export const reconcileBeyond = async (
  { sql }: Db,
  pipeline: Pipeline,
  found: Findings,
): Promise<void> => {
  const watermark = getTableName(pipeline.watermark);
  const beyond = [{ table: pipeline.digests, at: "checkpoint" }, ...partsOf(pipeline)].map(
    ({ table, at }) => `
      select format('${getTableName(table)}: %s rows of checkpoint %s and later, beyond ${watermark}',
                    count(*), min(${at})) as what
      from ${getTableName(table)}
      where ${at} >= (select next_checkpoint from ${watermark}) and ${at} < ${STILL_OPEN}
      having count(*) > 0`,
  );
  await addFound(sql, found, beyond.join(" union all "), []);
};
