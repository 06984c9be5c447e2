/**
 * Guided ranges of the log: what was read of them, summaries of checkpoints between, and found
 * checkpoints on their way into the log.
 */
import { bigints, byteas } from "../database/column-arrays.ts";
import { asInt8 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { insertNew } from "../database/table-rows.ts";
import { highest, lowest } from "../values/bigints.ts";
import type { CheckpointMark } from "./fact.ts";
import { logSummaries } from "./tables.ts";

/** Both bounds included. */
export type CheckpointRange = { readonly first: bigint; readonly last: bigint };

/** Guided ranges, ascending; adjacent ones are one. */
export const guidedRanges = (reads: Reads): Promise<readonly CheckpointRange[]> =>
  read<CheckpointRange>(reads, RANGES, []);

const RANGES = `
  select min(first_checkpoint) as first, max(last_checkpoint) as last from (
    select *, sum(begins) over (order by first_checkpoint) as range from (
      select *, (first_checkpoint is distinct from
                 lag(last_checkpoint) over (order by first_checkpoint) + 1)::int as begins
      from log_guided
    ) as batches
  ) as numbered
  group by range order by 1`;

/** Guided batches, ascending. */
export const guidedBatches = (reads: Reads): Promise<readonly CheckpointRange[]> =>
  read<CheckpointRange>(reads, BATCHES, []);

const BATCHES = `
  select first_checkpoint as first, last_checkpoint as last from log_guided order by 1`;

/** Parts of a range that were read guided, and those that were read whole, in order. */
export function* partsOf(
  { first, last }: CheckpointRange,
  guided: readonly CheckpointRange[],
): Generator<CheckpointRange & { readonly guided: boolean }> {
  let next = first;
  for (const range of guided) {
    if (range.last < next || range.first > last) continue;
    if (range.first > next) yield { first: next, last: range.first - 1n, guided: false };
    const part = { first: highest(next, range.first), last: lowest(last, range.last) };
    yield { ...part, guided: true };
    next = part.last + 1n;
  }
  if (next <= last) yield { first: next, last, guided: false };
}

/** Guided batches that have checkpoints of a range, ascending. */
export const guidedBetween = (
  reads: Reads,
  { first, last }: CheckpointRange,
): Promise<readonly CheckpointRange[]> =>
  read<CheckpointRange>(reads, BETWEEN, [first, last].map(asInt8));

const BETWEEN = `
  select first_checkpoint as first, last_checkpoint as last from log_guided
  where first_checkpoint <= $2::int8 and last_checkpoint >= $1::int8 order by first_checkpoint`;

/** The guided batch that has a checkpoint, or else the first after it; null without one. */
export const guidedFrom = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<CheckpointRange | null> => {
  const [row] = await read<CheckpointRange>(reads, FROM, [asInt8(checkpoint)]);
  return row ?? null;
};

const FROM = `
  (select first_checkpoint as first, last_checkpoint as last from (
     select * from log_guided where first_checkpoint <= $1::int8
     order by first_checkpoint desc limit 1) as before
   where last_checkpoint >= $1::int8)
  union all
  (select first_checkpoint, last_checkpoint from log_guided
   where first_checkpoint > $1::int8 order by first_checkpoint limit 1)
  order by first limit 1`;

/** Neighbours of a checkpoint that are known: read, or by a summary. */
export type Neighbours = {
  /** The one before the log's first checkpoint when none is known below. */
  readonly after: bigint;
  readonly before: bigint;
};

/**
 * Known neighbours of a checkpoint in a guided range that was not read and has no summary; null for
 * any other.
 */
export const neighboursOf = async (
  reads: Reads,
  checkpoint: bigint,
): Promise<Neighbours | null> => {
  const [row] = await read<Neighbours>(reads, NEIGHBOURS, [asInt8(checkpoint)]);
  return row ?? null;
};

const NEIGHBOURS = `
  select greatest(log.first_checkpoint - 1, below.last, (
           select max(checkpoint) from log_summaries where checkpoint < $1::int8)) as after,
         least(above.first, (
           select min(checkpoint) from log_summaries where checkpoint > $1::int8)) as before
  from log_high_water log
  join lateral (
    select min(first_checkpoint) as first from log_blocks where first_checkpoint > $1::int8
  ) as above on above.first is not null
  left join lateral (
    select first_checkpoint + count - 1 as last from log_blocks
    where first_checkpoint <= $1::int8 order by first_checkpoint desc limit 1
  ) as below on true
  where (below.last is null or below.last < $1::int8)
    and not exists (select from log_summaries where checkpoint = $1::int8)
    and exists (select from (select last_checkpoint from log_guided
                             where first_checkpoint <= $1::int8
                             order by first_checkpoint desc limit 1) as range
                where last_checkpoint >= $1::int8)`;

/** A verified summary of a checkpoint that was not read. */
export type LogSummary = CheckpointMark & {
  readonly epoch: bigint;
  /** BCS of `CheckpointSummary`. */
  readonly summary: Uint8Array;
  /** As in `StretchProof`. */
  readonly signature: Uint8Array;
  readonly signers: Uint8Array;
};

/** Keeps summaries; those of known checkpoints change nothing. */
export const keepSummaries = (sql: Sql, summaries: readonly LogSummary[]): Promise<void> =>
  insertNew(
    sql,
    logSummaries,
    summaries.map(({ sequence, ...summary }) => ({ checkpoint: sequence, ...summary })),
  );

const SUMMARY = `
  select checkpoint as sequence, digest, timestamp_ms as "timestampMs", epoch, summary, signature,
         signers
  from log_summaries`;

/** The summary of a checkpoint; null when none was kept. */
export const summaryAt = async (reads: Reads, checkpoint: bigint): Promise<LogSummary | null> => {
  const text = `${SUMMARY} where checkpoint = $1::int8`;
  const [row] = await read<LogSummary>(reads, text, [asInt8(checkpoint)]);
  return row ?? null;
};

/** Summaries of checkpoints after this one, ascending. */
export const summariesAfter = (
  sql: Sql,
  after: bigint,
  limit: number,
): Promise<readonly LogSummary[]> =>
  sql.unsafe<LogSummary[]>(
    `${SUMMARY} where checkpoint > $1 order by checkpoint limit $2`,
    [`${after}`, `${limit}`],
    { prepare: true },
  );

/** The checkpoint in the middle of two. */
export const middleOf = ({ after, before }: Neighbours): bigint => after + (before - after) / 2n;

/**
 * Follows the bisection for a time between two checkpoints that were read, as far as the summaries
 * on its path are kept: neighbours next to each other, or with a missing summary in their middle.
 * Other summaries do not count, so an answer never changes, even where the chain's time steps back.
 * @param leastMs reached by `before` and by no checkpoint that was read before it
 */
export const bisected = async (
  reads: Reads,
  { after, before }: Neighbours,
  leastMs: bigint,
): Promise<Neighbours> => {
  const parameters = [after, before, leastMs].map(asInt8);
  const [row] = await read<Neighbours>(reads, BISECTION, parameters);
  return row ?? { after, before };
};

const BISECTION = `
  with recursive path (after, before) as (
    select $1::int8, $2::int8
    union all
    select case when timestamp_ms < $3::int8 then checkpoint else after end,
           case when timestamp_ms < $3::int8 then before else checkpoint end
    from path join log_summaries on checkpoint = after + (before - after) / 2
    where before - after > 1
  )
  select after, before from path order by before - after limit 1`;

/** A verified checkpoint that guided reading found. */
export type FoundCheckpoint = {
  readonly checkpoint: bigint;
  /** As `readToExtract` makes it. */
  readonly excerpt: Uint8Array;
};

/** Stages found checkpoints, in the place of earlier excerpts of the same. */
export const stageFound = async (sql: Sql, found: readonly FoundCheckpoint[]): Promise<void> => {
  if (found.length === 0) return;
  const excerpts = found.map(({ excerpt }) => Buffer.from(excerpt));
  await sql`
    insert into log_found (checkpoint, excerpt)
    select * from unnest(${bigints(found.map(({ checkpoint }) => checkpoint))}::int8[],
                         ${byteas(excerpts)}::bytea[])
    on conflict (checkpoint) do update set excerpt = excluded.excerpt`;
};

/** Staged checkpoints after this one, ascending. */
export const foundAfter = (
  sql: Sql,
  after: bigint,
  limit: number,
): Promise<readonly FoundCheckpoint[]> => sql<FoundCheckpoint[]>`
  select checkpoint, excerpt from log_found
  where checkpoint > ${after} order by checkpoint limit ${limit}`;

/** How many checkpoints are staged and not in the log, and the last of them; null without any. */
export const stagedSoFar = async (
  reads: Reads,
): Promise<{ readonly count: bigint; readonly last: bigint } | null> => {
  const [row] = await read<{ count: bigint; last: bigint | null }>(reads, STAGED, []);
  return row === undefined || row.last === null ? null : { count: row.count, last: row.last };
};

const STAGED = `
  select count(*)::int8 as count, max(checkpoint) as last from log_found
  where checkpoint >= coalesce((select next_checkpoint from log_high_water), 0)`;

/** Empties the staging, once everything in it is in the log. */
export const emptyFound = async (sql: Sql): Promise<void> => {
  await sql`delete from log_found`;
};

/** Removes staged checkpoints after this one. */
export const dropFoundAfter = async (sql: Sql, after: bigint): Promise<void> => {
  await sql`delete from log_found where checkpoint > ${after}`;
};
