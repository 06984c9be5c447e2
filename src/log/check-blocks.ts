/** Checks `log_blocks`: hash chain, gaps, `log_checkpoints` and high-water mark. Reads only. */

import type { Sql } from "../database/connect.ts";
import { highest } from "../values/bigints.ts";
import { BLOCK_CHECKPOINTS, countOf, latestOf, markAt } from "./block.ts";
import { type BlockStretch, blockHash } from "./block-chain.ts";
import type { LogFault } from "./chain.ts";
import { START } from "./chain-hash.ts";
import type { CheckpointMark } from "./fact.ts";
import { type CheckpointRange, guidedBetween } from "./guided.ts";
import type { logBlocks } from "./tables.ts";

type BlockRow = typeof logBlocks.$inferSelect & { readonly hash: Buffer | null };

export type BlocksPlace = {
  /** Next checkpoint; null before the first block. */
  readonly next: bigint | null;
  readonly filled: boolean;
  readonly hash: Uint8Array;
  readonly reachedMs: bigint;
};

export const BLOCKS_BEGIN: BlocksPlace = { next: null, filled: true, hash: START, reachedMs: 0n };

type BlocksChecked = {
  readonly place: BlocksPlace;
  readonly checkpoints: number;
  readonly faults: readonly LogFault[];
  /** Checkpoints not filled in yet; null when none. */
  readonly unfilled: { readonly from: bigint; readonly to: bigint } | null;
  readonly ended: boolean;
};

const LOWEST = -(2n ** 63n);

const ROWS_PER_READ = 100;
const CHECKPOINTS_PER_READ = 4 * BLOCK_CHECKPOINTS;

const BLOCKS = `
  select b.first_checkpoint as "firstCheckpoint", b.count, b.times, b.digests, b.reached_ms as "reachedMs",
         b.filled, c.hash
  from log_blocks b left join log_block_chain c using (first_checkpoint)
  where b.first_checkpoint >= $1 and b.first_checkpoint < $2
  order by b.first_checkpoint limit $3`;

const MARKS = `
  select checkpoint, digest, timestamp_ms as "timestampMs" from log_checkpoints
  where checkpoint >= $1 and checkpoint < $2 order by checkpoint`;

type MarkRow = { readonly checkpoint: bigint } & Pick<CheckpointMark, "digest" | "timestampMs">;

export const stretchBegin = async (
  sql: Sql,
  { from, filled }: BlockStretch,
): Promise<BlocksPlace> => {
  const [row] = await sql<{ reachedMs: bigint; first: bigint }[]>`
    select reached_ms as "reachedMs", (select first_checkpoint from log_high_water) as first
    from log_blocks where first_checkpoint = ${from}`;
  // Checkpoints before the first block of an older log may have reached a later time.
  const reachedMs = filled || row === undefined || row.first === from ? 0n : row.reachedMs;
  return { next: from, filled, hash: START, reachedMs };
};

/**
 * Checks a bounded number of blocks after `place`.
 * @param before blocks from here on are left out
 */
export const checkBlocks = async (
  sql: Sql,
  place: BlocksPlace,
  before = 2n ** 63n - 1n,
): Promise<BlocksChecked> => {
  const [log] = await sql<{ first: bigint }[]>`
    select first_checkpoint as first from log_high_water`;
  // A row before all others was added, whatever its number.
  const from = place.next ?? LOWEST;
  const read = await sql.unsafe<BlockRow[]>(BLOCKS, [`${from}`, `${before}`, `${ROWS_PER_READ}`]);
  const some = upTo(read, CHECKPOINTS_PER_READ);
  const rows = some.filter(({ firstCheckpoint }) => firstCheckpoint >= 0n);
  const ended = some.length === read.length && read.length < ROWS_PER_READ;
  const faults: LogFault[] = [];
  const end = rows.at(-1)?.firstCheckpoint ?? from;
  const guided = await guidedBetween({ sql }, { first: from, last: end });
  const [added] = some;
  if (added !== undefined && added.firstCheckpoint < 0n) {
    const what = `log_blocks begins with ${added.firstCheckpoint}: a row was added`;
    faults.push({ checkpoint: added.firstCheckpoint, what });
  }
  let unfilled: BlocksChecked["unfilled"] = null;
  let at = place;
  let checkpoints = 0;
  for (const row of rows) {
    const gap = gapBefore(row, at, log?.first ?? 0n, guided);
    if (gap !== null && "what" in gap) faults.push(gap);
    else if (gap !== null) unfilled = gap;
    const found = rowFault(row, at, log?.first ?? 0n);
    if (found !== null) faults.push({ checkpoint: row.firstCheckpoint, what: found });
    at = behind(row, at);
    checkpoints += row.count;
  }
  const [first] = rows;
  if (first !== undefined) {
    const range = [`${first.firstCheckpoint}`, `${at.next}`];
    faults.push(...marksFaults(rows, await sql.unsafe<MarkRow[]>(MARKS, range)));
  }
  return { place: at, checkpoints, faults, unfilled, ended };
};

const upTo = (rows: readonly BlockRow[], most: number): readonly BlockRow[] => {
  let count = 0;
  const end = rows.findIndex((row) => {
    count += row.count;
    return count > most;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(end, 1));
};

/** The gap between `place` and this row. */
const gapBefore = (
  { firstCheckpoint: first, filled }: BlockRow,
  { next, filled: filledBefore }: BlocksPlace,
  begin: bigint,
  guided: readonly CheckpointRange[],
): LogFault | { readonly from: bigint; readonly to: bigint } | null => {
  const due = next ?? begin;
  if (filled && !filledBefore) {
    const what =
      "a block that was filled in lies behind one that was appended: its row was altered";
    return { checkpoint: first, what };
  }
  if (first === due) return null;
  if (first < due) {
    const what =
      next === null
        ? `log_blocks begins here, but the log at ${begin}: log_high_water.first_checkpoint was altered, or blocks were added`
        : `two rows of log_blocks overlap: the one before goes up to ${due - 1n}`;
    return { checkpoint: first, what };
  }
  // The last checkpoint of a guided batch was read.
  if (guided.some((batch) => batch.first <= due && batch.last >= first)) return null;
  // An older log lacks blocks between the stretches for a while.
  if (filledBefore && !filled) return { from: due, to: first - 1n };
  return { checkpoint: due, what: `log_blocks lacks checkpoints ${due} to ${first - 1n}` };
};

const behind = (row: BlockRow, { filled, hash, reachedMs }: BlocksPlace): BlocksPlace => {
  const before = filled === row.filled ? hash : START;
  return {
    next: row.firstCheckpoint + BigInt(Math.max(row.count, 1)),
    filled: row.filled,
    // Continue after a fault.
    hash: row.hash ?? (countOf(row) === row.count ? blockHash(before, row) : before),
    reachedMs:
      filled === row.filled || row.filled ? row.reachedMs : highest(row.reachedMs, reachedMs),
  };
};

const rowFault = (row: BlockRow, place: BlocksPlace, begin: bigint): string | null => {
  const { count, times, hash, reachedMs, filled, firstCheckpoint } = row;
  if (count < 1 || count > BLOCK_CHECKPOINTS || countOf(row) !== count) {
    return `a row of log_blocks has ${times.length} bytes of times and ${row.digests.length} of digests for ${count} checkpoints`;
  }
  const follows = filled === place.filled && place.next !== null;
  if (hash !== null) {
    const expected = blockHash(filled === place.filled ? place.hash : START, row);
    if (!hash.equals(expected)) {
      return `the hash of times and digests of checkpoints ${firstCheckpoint} to ${firstCheckpoint + BigInt(count) - 1n} is not the one in log_block_chain: one of them or the chain was altered`;
    }
  }
  const own = latestOf(times, follows || filled ? place.reachedMs : 0n);
  if (reachedMs === own) return null;
  // Checkpoints before the first block of an older log may have reached a later time.
  const before = place.next === firstCheckpoint ? place.reachedMs : reachedMs;
  const isLater =
    !follows && !filled && firstCheckpoint > begin && reachedMs <= highest(own, before);
  if (reachedMs < own || !isLater) {
    return `log_blocks says that the time ${reachedMs} was reached here instead of ${own}`;
  }
  return null;
};

const marksFaults = (rows: readonly BlockRow[], marks: readonly MarkRow[]): readonly LogFault[] => {
  const faults: LogFault[] = [];
  let at = 0;
  for (const { checkpoint, digest, timestampMs } of marks) {
    while (at < rows.length - 1 && (rows[at + 1]?.firstCheckpoint ?? 0n) <= checkpoint) at += 1;
    const row = rows[at];
    if (row === undefined || countOf(row) !== row.count) continue;
    const place = Number(checkpoint - row.firstCheckpoint);
    // In a gap, reported elsewhere.
    if (place < 0 || place >= row.count) continue;
    const mark = markAt(row.firstCheckpoint, row, place);
    const wrong = [
      ...(mark.digest === digest ? [] : [`digest ${mark.digest} instead of ${digest}`]),
      ...(mark.timestampMs === timestampMs
        ? []
        : [`time ${mark.timestampMs} instead of ${timestampMs}`]),
    ];
    if (wrong.length === 0) continue;
    const what = `log_blocks has ${wrong.join(", ")}, which log_checkpoints has`;
    faults.push({ checkpoint, what });
  }
  return faults;
};

type Edges = {
  readonly first: bigint;
  readonly next: bigint;
  readonly last: bigint | null;
  readonly digest: string | null;
  readonly timestampMs: bigint | null;
  readonly reachedMs: bigint | null;
  readonly marked: bigint | null;
  readonly earliest: bigint | null;
  readonly blockFirst: bigint | null;
  readonly count: number | null;
  readonly times: Buffer | null;
  readonly digests: Buffer | null;
  readonly blockReachedMs: bigint | null;
  readonly stray: bigint | null;
};

// One snapshot, as a service may append meanwhile.
const EDGES = `
  select log.first_checkpoint as first, log.next_checkpoint as next, log.last_checkpoint as last,
         log.last_digest as digest, log.last_timestamp_ms as "timestampMs", log.reached_ms as "reachedMs",
         (select min(checkpoint) from log_facts) as earliest,
         (select min(checkpoint) from log_checkpoints) as marked,
         block.first_checkpoint as "blockFirst", block.count, block.times, block.digests,
         block.reached_ms as "blockReachedMs",
         (select c.first_checkpoint from log_block_chain c left join log_blocks b using (first_checkpoint)
          where b.first_checkpoint is null order by 1 limit 1) as stray
  from log_high_water log
  left join lateral (
    select * from log_blocks where not filled order by first_checkpoint desc limit 1
  ) as block on true`;

/** Checks the high-water mark against the log's first and last checkpoint. */
export const edgeFaults = async (sql: Sql): Promise<readonly LogFault[]> => {
  const [edges] = await sql.unsafe<Edges[]>(EDGES, [], { prepare: true });
  if (edges === undefined) return [];
  const { first, next, last, earliest, marked, stray, count, times, digests, blockFirst } = edges;
  const faults: LogFault[] = [];
  const wrong = (what: string) => faults.push({ checkpoint: next - 1n, what });
  const begun = [earliest, marked].filter((checkpoint) => checkpoint !== null);
  for (const checkpoint of begun) {
    if (checkpoint >= first) continue;
    wrong(`log_high_water.first_checkpoint is ${first}, but the log has facts of ${checkpoint}`);
    break;
  }
  if (stray !== null) {
    wrong(
      `log_block_chain has a row of checkpoint ${stray}, but log_blocks has none: it was deleted`,
    );
  }
  if ((last ?? first - 1n) !== next - 1n) {
    wrong(`log_high_water names ${last} as the last checkpoint and ${next} as the next`);
  }
  if (blockFirst === null || count === null || times === null || digests === null) return faults;
  if (countOf({ times, digests }) !== count) return faults;
  const mark = markAt(blockFirst, { times, digests }, count - 1);
  if (mark.digest !== edges.digest || mark.timestampMs !== edges.timestampMs) {
    wrong(
      `log_high_water has digest ${edges.digest} and time ${edges.timestampMs} of the last checkpoint, but log_blocks ${mark.digest} and ${mark.timestampMs}`,
    );
  }
  if (edges.reachedMs !== edges.blockReachedMs) {
    wrong(
      `log_high_water says that the time ${edges.reachedMs} was reached, but log_blocks ${edges.blockReachedMs}`,
    );
  }
  return faults;
};
