/**
 * The table of ranges: planned by the process that appends, filled by workers, emptied in order.
 * A wake-up of the queue names a range; its row decides what is to be done.
 */
import { bigints } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import type { BackfillRanges } from "../values/bulk-progress.ts";
import { onlyPlaces } from "../values/place.ts";

/** Checkpoints, bounds included. */
export type CheckpointSpan = { readonly first: bigint; readonly last: bigint };

/** Workers notify it with the first checkpoint of a range that they read or failed at. */
export const RANGE_CHANNEL = "holderbook_backfill";

/** Plans ranges; those that are planned stay as they are. */
export const planRanges = async (sql: Sql, ranges: readonly CheckpointSpan[]): Promise<void> => {
  if (ranges.length === 0) return;
  await sql`
    insert into backfill_ranges (first_checkpoint, last_checkpoint)
    select * from unnest(${bigints(ranges.map(({ first }) => first))}::int8[],
                         ${bigints(ranges.map(({ last }) => last))}::int8[])
    on conflict do nothing`;
};

/**
 * Removes what an earlier plan left that does not continue the log: ranges that are in it, those
 * that end behind `last`, and all when none begins with `next`.
 */
export const reviseRanges = async (
  sql: Sql,
  { next, last }: { readonly next: bigint; readonly last: bigint },
): Promise<void> => {
  await sql`
    delete from backfill_ranges
    where first_checkpoint < ${next} or last_checkpoint > ${last}
       or not exists (select from backfill_ranges where first_checkpoint = ${next})`;
};

/** Removes a range that is in the log. */
export const dropRange = async (sql: Sql, first: bigint): Promise<void> => {
  await sql`delete from backfill_ranges where first_checkpoint = ${first}`;
};

export type PlannedRange = CheckpointSpan & {
  readonly failures: number;
  readonly failure: string | null;
};

/** Ranges without a result, ascending; failed ones only after their pause. */
export const unreadRanges = (sql: Sql, limit: number): Promise<readonly PlannedRange[]> => sql<
  PlannedRange[]
>`
  select first_checkpoint as first, last_checkpoint as last, failures, failure
  from backfill_ranges
  where content is null
    and (failures = 0
         or changed_at < clock_timestamp() - least(60, power(2, least(failures, 6))) * interval '1 second')
  order by first_checkpoint limit ${limit}`;

/** What is planned: the number of ranges, and the last checkpoint of the last one. */
export const plannedUpTo = async (
  sql: Sql,
): Promise<{ readonly count: number; readonly last: bigint | null }> => {
  const [row] = await sql<{ count: number; last: bigint | null }[]>`
    select count(*)::int4 as count, max(last_checkpoint) as last from backfill_ranges`;
  return row ?? { count: 0, last: null };
};

/** Notes that a worker reads a range, and returns it; null when it is in the log, or was read. */
export const takeRange = async (
  sql: Sql,
  first: bigint,
  worker: string,
): Promise<CheckpointSpan | null> => {
  const [row] = await sql<{ first: bigint; last: bigint }[]>`
    update backfill_ranges set worker = ${worker}, changed_at = clock_timestamp()
    where first_checkpoint = ${first} and content is null
    returning first_checkpoint as first, last_checkpoint as last`;
  return row ?? null;
};

/** What a worker read of a range, kept unless another one was faster. */
export const keepRange = async (
  sql: Sql,
  { first, last }: CheckpointSpan,
  read: { readonly content: Uint8Array; readonly rawBytes: number; readonly worker: string },
): Promise<void> => {
  await sql`
    with kept as (
      update backfill_ranges
      set content = ${Buffer.from(read.content)}, raw_bytes = ${read.rawBytes}, worker = ${read.worker},
          changed_at = clock_timestamp()
      where first_checkpoint = ${first} and last_checkpoint = ${last} and content is null
      returning first_checkpoint)
    select pg_notify(${RANGE_CHANNEL}, first_checkpoint::text) from kept`;
};

/**
 * Notes why a range could not be read, and by which worker, or removes a result that cannot be used. `/health` shows
 * the reason: of addresses, which may hold a provider's key, only places are kept.
 * @param worker which failed to read it: what another one has read meanwhile stays; null: the result is at fault
 */
export const failRange = async (
  sql: Sql,
  first: bigint,
  { reason, worker }: { readonly reason: string; readonly worker: string | null },
): Promise<void> => {
  await sql`
    with failed as (
      update backfill_ranges
      set content = null, raw_bytes = null, worker = coalesce(${worker}, worker),
          failures = failures + 1, changed_at = clock_timestamp(),
          failure = left(${onlyPlaces(reason)}, 500) || coalesce(' (read by ' || coalesce(${worker}, worker) || ')', '')
      where first_checkpoint = ${first} and (content is null or ${worker}::text is null)
      returning first_checkpoint)
    select pg_notify(${RANGE_CHANNEL}, first_checkpoint::text) from failed`;
};

/** Has ranges from a checkpoint on read again, because a package joined before it. */
export const readAgainFrom = async (sql: Sql, first: bigint): Promise<void> => {
  await sql`
    update backfill_ranges set content = null, raw_bytes = null
    where first_checkpoint >= ${first} and content is not null`;
};

/** A range with its result; null without the row. */
export const rangeAt = async (
  sql: Sql,
  first: bigint,
): Promise<
  (PlannedRange & { readonly content: Uint8Array | null; readonly rawBytes: bigint | null }) | null
> => {
  const [row] = await sql<
    (PlannedRange & { content: Uint8Array | null; rawBytes: bigint | null })[]
  >`
    select first_checkpoint as first, last_checkpoint as last, failures, failure, content,
           raw_bytes as "rawBytes"
    from backfill_ranges where first_checkpoint = ${first}`;
  return row ?? null;
};

/** Null when no backfill is under way, or another reader has passed what it left. */
export const rangesAhead = async (sql: Sql): Promise<BackfillRanges | null> => {
  const [row] = await sql<BackfillRanges[]>`
    select (count(*) - count(content))::int4 as "waitingRanges", count(content)::int4 as "readRanges",
           count(distinct worker) filter (
             where changed_at > clock_timestamp() - interval '1 minute')::int4 as workers,
           count(*) filter (where failures > 0 and content is null)::int4 as "failedRanges",
           (array_agg('checkpoint ' || first_checkpoint || ': ' || failure order by first_checkpoint)
             filter (where failures > 0 and content is null))[1] as failure
    from backfill_ranges
    where last_checkpoint >= (select next_checkpoint from log_high_water)`;
  return row === undefined || row.waitingRanges + row.readRanges === 0 ? null : row;
};
