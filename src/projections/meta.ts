/** A snapshot's metadata: the checkpoint that all five pipelines have committed in it. */
import { getTableName } from "drizzle-orm";
import { type Reads, read } from "../database/readers.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { markOf } from "../log/high-water.ts";
import { logHighWater } from "../log/tables.ts";
import { COMPLETE_THROUGH } from "./incomplete-coins.ts";
import { ALL } from "./needed.ts";

export type Meta = {
  /** Last checkpoint committed by all pipelines; null before the first. */
  readonly last: CheckpointMark | null;
  /** Null while the source did not report one. */
  readonly chainId: string | null;
  /** First checkpoint of the log; null before a reader first opened it. */
  readonly firstCheckpoint: bigint | null;
  /** First checkpoint that can be queried as the past. */
  readonly historyCheckpoint: bigint | null;
  /** First checkpoint whose facts are in the database: later than the log's when facts are archived. */
  readonly factsCheckpoint: bigint | null;
  /** Whether parts of the log were read guided: only checkpoints that concern the contract. */
  readonly isGuided: boolean;
  /** Last checkpoint through which all coins are proven complete; null when never. */
  readonly completeThrough: bigint | null;
};

/** One row per pipeline ever run; without any, one row with a null pipeline. */
type Row = {
  readonly chainId: string | null;
  readonly firstCheckpoint: bigint | null;
  readonly archivedBefore: bigint | null;
  readonly isGuided: boolean;
  readonly completeThrough: bigint | null;
  readonly pipeline: string | null;
  readonly checkpoint: bigint | null;
  readonly digest: string | null;
  readonly timestampMs: bigint | null;
  readonly layout: number | null;
};

const MARKS = ALL.map(
  ({ watermark }) =>
    `select pipeline, last_checkpoint, last_digest, last_timestamp_ms, layout from ${getTableName(watermark)}`,
);

const META = `
  select log.chain_id as "chainId", log.first_checkpoint as "firstCheckpoint",
         public.log_archived_before() as "archivedBefore",
         exists (select from log_guided) as "isGuided", ${COMPLETE_THROUGH} as "completeThrough",
         marks.pipeline,
         marks.last_checkpoint as checkpoint, marks.last_digest as digest,
         marks.last_timestamp_ms as "timestampMs", marks.layout
  from (select) as one
  left join ${getTableName(logHighWater)} log on true
  left join (${MARKS.join(" union all ")}) as marks on true`;

export const readMeta = async (on: Reads): Promise<Meta> => {
  const rows = await read<Row>(on, META, []);
  const [row] = rows;
  const marks = ALL.map(({ name, pastSince }) => {
    const own = rows.find(({ pipeline }) => pipeline === name);
    return {
      mark: own === undefined ? null : markOf(own.checkpoint, own.digest, own.timestampMs),
      isFilled: (own?.layout ?? pastSince) >= pastSince,
    };
  });
  const last = marks
    .map(({ mark }) => mark)
    .reduce((a, b) => (a === null || b === null ? null : b.sequence < a.sequence ? b : a));
  const first = row?.firstCheckpoint ?? null;
  const isFilled = marks.every((each) => each.isFilled);
  return {
    last,
    chainId: row?.chainId ?? null,
    firstCheckpoint: first,
    isGuided: row?.isGuided ?? false,
    completeThrough: row?.completeThrough ?? null,
    // While history is filled in, no committed checkpoint can be queried.
    historyCheckpoint: isFilled || last === null ? first : last.sequence + 1n,
    factsCheckpoint: row?.archivedBefore ?? first,
  };
};
