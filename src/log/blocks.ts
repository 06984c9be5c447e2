/**
 * When each checkpoint was, and its digest: read from the blocks of the log.
 *
 * Every statement looks up single rows by an index, however long the log is. Where a second ends is found by
 * the latest time that blocks had reached, which never falls along a stretch: the first block that reaches
 * beyond the second holds the first checkpoint beyond it, also where the chain's time steps back.
 */
import { asInt8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { BLOCK_CHECKPOINTS, firstReaching, markAt } from "./block.ts";
import type { CheckpointMark } from "./fact.ts";

/** Time and digest of a checkpoint; null while the log has them not: not read yet, or not filled in yet. */
export const checkpointMark = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<CheckpointMark | null> => {
  const [row] = await read<{ times: Buffer; digests: Buffer }>(reads, MARK, [asInt8(checkpoint)]);
  return row === undefined ? null : markAt(checkpoint, row, 0);
};

// The place in the block is cut to a block's length before it is an `int`: it may be far beyond its end.
const MARK = `
  select substring(times from place * 8 + 1 for 8) as times,
         substring(digests from place * 32 + 1 for 32) as digests
  from (
    select times, digests, count, least($1::int8 - first_checkpoint, ${BLOCK_CHECKPOINTS})::int as place
    from log_blocks where first_checkpoint <= $1::int8
    order by first_checkpoint desc limit 1
  ) as block
  where place < count`;

/** What stood when a second had ended. */
export type CheckpointBefore =
  /** The checkpoint before the first one beyond that second. */
  | { readonly kind: "found"; readonly checkpoint: bigint }
  /** The first one beyond it is the log's own first checkpoint: what was before is not in the log. */
  | { readonly kind: "before_log"; readonly firstCheckpoint: bigint }
  /** None beyond it is known yet. What else the second holds is open. */
  | {
      readonly kind: "not_yet";
      /** Whether that is because times of earlier checkpoints are still being filled in. */
      readonly filling: boolean;
    };

/**
 * The checkpoint before the first one whose time, in whole seconds (rounded down), is larger than this one.
 * Once found, it stays the same.
 * @param unixSeconds since the Unix epoch
 */
export const checkpointBefore = async (
  reads: Reads,
  unixSeconds: bigint,
): Promise<CheckpointBefore> => {
  const beyondMs = asInt8((unixSeconds + 1n) * 1_000n);
  const [row] = await read<Reaching>(reads, REACHING, [beyondMs]);
  // No reader ever opened the log.
  if (row === undefined) return { kind: "not_yet", filling: false };
  const { firstCheckpoint, first, times, filled } = row;
  const filling = row.filledTo < row.appendedFrom;
  // Between the two stretches there may be an earlier one.
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

/** Where the two stretches of blocks are: what `STRETCHES` selects. */
export type Stretches = {
  readonly firstCheckpoint: bigint;
  readonly nextCheckpoint: bigint;
  /** Next checkpoint to fill in. */
  readonly filledTo: bigint;
  /** Where the stretch begins that follows the appends. */
  readonly appendedFrom: bigint;
};

/** Of a row `log` of the high-water mark. Within a stretch, blocks in time are blocks in order. */
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

// What the filled stretch has is earlier in the chain.
const REACHING = `
  select ${STRETCHES}, block.first_checkpoint as first, block.times, block.filled
  from log_high_water log
  left join lateral (
    select * from (${reaching("filled")} union all ${reaching("not filled")}) as either
    order by filled desc limit 1
  ) as block on true`;

/** Of which checkpoints of the log times and digests are known. */
export type KnownBlocks = {
  readonly firstCheckpoint: bigint;
  /** From the log's first checkpoint up to, not including, this one they are known. */
  readonly filledTo: bigint;
  /**
   * From here on they are known again, up to the log's end: at most `filledTo` when nothing is left to fill
   * in.
   */
  readonly knownFrom: bigint;
  /** The log's end: the next checkpoint it expects. */
  readonly nextCheckpoint: bigint;
};

/** How far the log's blocks are filled in; null when no reader ever opened the log. */
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
