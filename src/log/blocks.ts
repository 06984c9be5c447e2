/**
 * Looks up times and digests of checkpoints.
 *
 * Each look-up reads single rows by an index. A time is found by the latest time that blocks had
 * reached, which never falls along a stretch even if the chain's time does: the first block beyond
 * a second holds the first checkpoint beyond it.
 */
import { asInt8 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { BLOCK_CHECKPOINTS, firstReaching, markAt } from "./block.ts";
import type { BlockPiece, CheckpointMark } from "./fact.ts";
import { bisected, type Neighbours } from "./guided.ts";
import { markOf } from "./high-water.ts";

/**
 * Time and digest of a checkpoint; null when not read or not filled in yet, and between those of a
 * guided range while no summary of it is kept.
 */
export const checkpointMark = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<CheckpointMark | null> => {
  const [row] = await read<Marked>(reads, MARK, [asInt8(checkpoint)]);
  if (row === undefined) return null;
  const { times, digests, timestampMs, digest } = row;
  if (times !== null && digests !== null) return markAt(checkpoint, { times, digests }, 0);
  return markOf(checkpoint, digest, timestampMs);
};

type Marked = {
  readonly times: Buffer | null;
  readonly digests: Buffer | null;
  readonly timestampMs: bigint | null;
  readonly digest: string | null;
};

// Limited to a block's length before the cast to int.
const MARK = `
  select substring(times from place * 8 + 1 for 8) as times,
         substring(digests from place * 32 + 1 for 32) as digests,
         null::int8 as "timestampMs", null::text as digest
  from (
    select times, digests, count, least($1::int8 - first_checkpoint, ${BLOCK_CHECKPOINTS})::int as place
    from log_blocks where first_checkpoint <= $1::int8
    order by first_checkpoint desc limit 1
  ) as block
  where place < count
  union all
  select null, null, timestamp_ms, digest from log_summaries where checkpoint = $1::int8
  limit 1`;

/** Known times and digests of a range, both bounds included, ascending; adjacent ones are one. */
export const blocksBetween = (
  sql: Sql,
  first: bigint,
  last: bigint,
): Promise<readonly BlockPiece[]> => sql.unsafe<BlockPiece[]>(BETWEEN, [`${first}`, `${last}`]);

/** Whether pieces begin with a checkpoint and leave no gap. */
export const areWhole = (pieces: readonly BlockPiece[], first: bigint): boolean =>
  pieces.length === 1 && pieces[0]?.first === first;

const BETWEEN = `
  select min(first_checkpoint + low) as first,
         string_agg(substring(times from low * 8 + 1 for (high - low) * 8), ''::bytea
                    order by first_checkpoint) as times,
         string_agg(substring(digests from low * 32 + 1 for (high - low) * 32), ''::bytea
                    order by first_checkpoint) as digests
  from (
    select *, sum(begins) over (order by first_checkpoint) as piece from (
    select *, (first_checkpoint is distinct from
               lag(first_checkpoint + count) over (order by first_checkpoint))::int as begins from (
    select first_checkpoint, times, digests, count,
           least(greatest($1::int8 - first_checkpoint, 0), count)::int as low,
           least($2::int8 + 1 - first_checkpoint, count)::int as high
    from log_blocks
    where first_checkpoint <= $2::int8 and first_checkpoint >= coalesce(
      (select max(first_checkpoint) from log_blocks where first_checkpoint <= $1::int8), $1::int8)
    ) as part
    where low < high
    ) as known
  ) as numbered
  group by piece order by 1`;

/**
 * The last of up to this many checkpoints that were read from `first` on, at most `last`; null when
 * none was.
 */
export const readUpTo = async (
  sql: Sql,
  first: bigint,
  last: bigint,
  most: number,
): Promise<bigint | null> => {
  const parameters = [`${first}`, `${last}`, `${most}`];
  const [row] = await sql.unsafe<{ last: bigint }[]>(READ_UP_TO, parameters, { prepare: true });
  return row?.last ?? null;
};

// Whole rows: the first one counts even if it has more.
const READ_UP_TO = `
  select least(first_checkpoint + count - 1, $2::int8) as last from (
    select first_checkpoint, count, sum(count) over (order by first_checkpoint) as total,
           row_number() over (order by first_checkpoint) as place
    from (select first_checkpoint, count from log_blocks
          where first_checkpoint <= $2::int8 and first_checkpoint >= coalesce(
            (select max(first_checkpoint) from log_blocks
             where first_checkpoint <= $1::int8 and first_checkpoint + count > $1::int8), $1::int8)
          order by first_checkpoint limit $3::int) as row
  ) as counted
  where total <= $3::int or place = 1
  order by first_checkpoint desc limit 1`;

/** The last checkpoint of a second. */
type CheckpointBefore =
  /** The checkpoint before the first one after that second. */
  | { readonly kind: "found"; readonly checkpoint: bigint }
  /** The log's first checkpoint is already after it. */
  | { readonly kind: "before_log"; readonly firstCheckpoint: bigint }
  /** No checkpoint after it is known yet. */
  | {
      readonly kind: "not_yet";
      /** Whether earlier checkpoints are still being filled in. */
      readonly filling: boolean;
    }
  /** It lies between these two of a guided range; the summary in their middle is missing. */
  | ({ readonly kind: "between" } & Neighbours);

/**
 * The checkpoint before the first whose time, in whole seconds, is later. Once found it never
 * changes.
 * @param unixSeconds since the Unix epoch
 */
export const checkpointBefore = async (
  reads: Reads,
  unixSeconds: bigint,
): Promise<CheckpointBefore> => {
  const beyondMs = asInt8((unixSeconds + 1n) * 1_000n);
  const [row] = await read<Reaching>(reads, REACHING, [beyondMs]);
  // No reader has opened the log.
  if (row === undefined) return { kind: "not_yet", filling: false };
  const { firstCheckpoint, first, times, filled } = row;
  const filling = row.filledTo < row.appendedFrom;
  // An earlier one may lie between the stretches.
  if (first === null || times === null || (filling && !filled)) return { kind: "not_yet", filling };
  const place = firstReaching(times, beyondMs);
  if (place < 0) throw new Error(`log_blocks: the block of ${first} does not reach ${beyondMs}`);
  const beyond = first + BigInt(place);
  const knownTo = place > 0 ? beyond : (row.knownTo ?? firstCheckpoint);
  if (knownTo < beyond) {
    return betweenRead(reads, { after: knownTo - 1n, before: beyond }, firstCheckpoint, beyondMs);
  }
  return beyond === firstCheckpoint
    ? { kind: "before_log", firstCheckpoint }
    : { kind: "found", checkpoint: beyond - 1n };
};

/** Follows the bisection between two neighbours that were read. */
const betweenRead = async (
  reads: Reads,
  between: Neighbours,
  firstCheckpoint: bigint,
  beyondMs: bigint,
): Promise<CheckpointBefore> => {
  const { after, before } = await bisected(reads, between, beyondMs);
  if (before - after > 1n) return { kind: "between", after, before };
  return after < firstCheckpoint
    ? { kind: "before_log", firstCheckpoint }
    : { kind: "found", checkpoint: after };
};

type Reaching = Stretches & {
  readonly first: bigint | null;
  readonly times: Buffer | null;
  readonly filled: boolean | null;
  /** After the block before. */
  readonly knownTo: bigint | null;
};

/** Bounds of the two stretches of blocks, as `STRETCHES` selects them. */
export type Stretches = {
  readonly firstCheckpoint: bigint;
  readonly nextCheckpoint: bigint;
  /** Next checkpoint to fill in. */
  readonly filledTo: bigint;
  /** Start of the appended stretch. */
  readonly appendedFrom: bigint;
};

/** For a row `log` of the high-water mark. Within a stretch, order of time is order of blocks. */
export const STRETCHES = `
  log.first_checkpoint as "firstCheckpoint", log.next_checkpoint as "nextCheckpoint",
  coalesce((select first_checkpoint + count from log_blocks where filled
            order by reached_ms desc, first_checkpoint desc limit 1),
           log.first_checkpoint) as "filledTo",
  coalesce(least((select first_checkpoint from log_blocks where not filled
                  order by reached_ms, first_checkpoint limit 1),
                 -- Its first checkpoints may not have been read.
                 (select min(first_checkpoint) from log_guided)),
           log.next_checkpoint) as "appendedFrom"`;

/** The first block of a stretch that reaches a time. */
const reaching = (stretch: string) => `
  (select first_checkpoint, times, filled from log_blocks
   where ${stretch} and reached_ms >= $1::int8
   order by reached_ms, first_checkpoint limit 1)`;

// The filled-in stretch comes first in the chain.
const REACHING = `
  select ${STRETCHES}, block.first_checkpoint as first, block.times, block.filled,
         (select first_checkpoint + count from log_blocks where first_checkpoint < block.first_checkpoint
          order by first_checkpoint desc limit 1) as "knownTo"
  from log_high_water log
  left join lateral (
    select * from (${reaching("filled")} union all ${reaching("not filled")}) as either
    order by filled desc limit 1
  ) as block on true`;

/** Checkpoints with known times and digests. */
export type KnownBlocks = {
  readonly firstCheckpoint: bigint;
  /** Known from the log's first checkpoint up to this one, excluded. */
  readonly filledTo: bigint;
  /** Known again from here to the log's end; at most `filledTo` when nothing is left to fill in. */
  readonly knownFrom: bigint;
  /** The next checkpoint that the log expects. */
  readonly nextCheckpoint: bigint;
};

/** Progress of filling in blocks; null when no reader has opened the log. */
export const blocksFilledTo = async (reads: Reads): Promise<KnownBlocks | null> => {
  const [row] = await read<Stretches>(reads, KNOWN, []);
  if (row === undefined) return null;
  const { firstCheckpoint, nextCheckpoint, filledTo, appendedFrom } = row;
  const whole = filledTo >= appendedFrom;
  return {
    firstCheckpoint,
    filledTo: whole ? nextCheckpoint : filledTo,
    knownFrom: whole ? firstCheckpoint : appendedFrom,
    nextCheckpoint,
  };
};

const KNOWN = `select ${STRETCHES} from log_high_water log`;
