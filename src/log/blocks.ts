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
import { BLOCK_CHECKPOINTS, countOf, firstReaching, markAt } from "./block.ts";
import type { Block, CheckpointMark } from "./fact.ts";

/** Time and digest of a checkpoint; null when not read or not filled in yet. */
export const checkpointMark = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<CheckpointMark | null> => {
  const [row] = await read<{ times: Buffer; digests: Buffer }>(reads, MARK, [asInt8(checkpoint)]);
  return row === undefined ? null : markAt(checkpoint, row, 0);
};

// Limited to a block's length before the cast to int.
const MARK = `
  select substring(times from place * 8 + 1 for 8) as times,
         substring(digests from place * 32 + 1 for 32) as digests
  from (
    select times, digests, count, least($1::int8 - first_checkpoint, ${BLOCK_CHECKPOINTS})::int as place
    from log_blocks where first_checkpoint <= $1::int8
    order by first_checkpoint desc limit 1
  ) as block
  where place < count`;

/** Times and digests of a range, both bounds included; null unless all are known. */
export const blockBetween = async (
  sql: Sql,
  first: bigint,
  last: bigint,
): Promise<Block | null> => {
  const [block] = await sql.unsafe<Partial<Block>[]>(BETWEEN, [`${first}`, `${last}`]);
  const { times, digests } = block ?? {};
  if (!times || !digests) return null;
  return countOf({ times, digests }) === Number(last - first + 1n) ? { times, digests } : null;
};

const BETWEEN = `
  select string_agg(substring(times from low * 8 + 1 for (high - low) * 8), ''::bytea
                    order by first_checkpoint) as times,
         string_agg(substring(digests from low * 32 + 1 for (high - low) * 32), ''::bytea
                    order by first_checkpoint) as digests
  from (
    select first_checkpoint, times, digests,
           least(greatest($1::int8 - first_checkpoint, 0), count)::int as low,
           least($2::int8 + 1 - first_checkpoint, count)::int as high
    from log_blocks
    where first_checkpoint <= $2::int8 and first_checkpoint >= coalesce(
      (select max(first_checkpoint) from log_blocks where first_checkpoint <= $1::int8), $1::int8)
  ) as part
  where low < high`;

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
    };

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
  return beyond === firstCheckpoint
    ? { kind: "before_log", firstCheckpoint }
    : { kind: "found", checkpoint: beyond - 1n };
};

type Reaching = Stretches & {
  readonly first: bigint | null;
  readonly times: Buffer | null;
  readonly filled: boolean | null;
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
  coalesce((select first_checkpoint from log_blocks where not filled
            order by reached_ms, first_checkpoint limit 1),
           log.next_checkpoint) as "appendedFrom"`;

/** The first block of a stretch that reaches a time. */
const reaching = (stretch: string) => `
  (select first_checkpoint, times, filled from log_blocks
   where ${stretch} and reached_ms >= $1::int8
   order by reached_ms, first_checkpoint limit 1)`;

// The filled-in stretch comes first in the chain.
const REACHING = `
  select ${STRETCHES}, block.first_checkpoint as first, block.times, block.filled
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
