/**
 * Hash chain over times and digests. For each checkpoint
 *
 * hash = SHA-256(previous hash, or 32 zero bytes at the start of its stretch; checkpoint and time
 * in ms, u64 big-endian each; digest, 32 bytes)
 *
 * and each row of `log_blocks` has the hash of its last checkpoint. The appended and the filled-in
 * stretch have a chain each.
 */
import { createHash } from "node:crypto";
import { bigints } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { STRETCHES, type Stretches } from "./blocks.ts";
import { START } from "./chain-hash.ts";
import type { Block } from "./fact.ts";
import { guidedRanges } from "./guided.ts";
import { logBlockChain } from "./tables.ts";

type BlockRow = Block & { readonly firstCheckpoint: bigint; readonly count: number };
type ChainRow = typeof logBlockChain.$inferSelect;

/** Hash after a block's last checkpoint. */
export const blockHash = (
  before: Uint8Array,
  { firstCheckpoint, count, times, digests }: BlockRow,
): Uint8Array => {
  const step = Buffer.alloc(80);
  step.set(before);
  for (let n = 0; n < count; n += 1) {
    step.writeBigUInt64BE(firstCheckpoint + BigInt(n), 32);
    step.set(times.subarray(n * 8, (n + 1) * 8), 40);
    step.set(digests.subarray(n * 32, (n + 1) * 32), 48);
    createHash("sha256").update(step).digest().copy(step);
  }
  return step.subarray(0, 32);
};

/** Chain rows for consecutive blocks after `before`. */
export const blockLinks = (before: Uint8Array, rows: readonly BlockRow[]): readonly ChainRow[] => {
  let hash = before;
  return rows.map((row) => {
    hash = blockHash(hash, row);
    return { firstCheckpoint: row.firstCheckpoint, hash };
  });
};

const BLOCKS_PER_READ = 500;

const STRETCH = `select ${STRETCHES} from log_high_water log`;

/** The last chain row in a range of checkpoints, and where its block ends. */
const END = `
  select c.hash, b.first_checkpoint + b.count as next
  from (select first_checkpoint, hash from log_block_chain
        where first_checkpoint >= $1 and first_checkpoint < $2
        order by first_checkpoint desc limit 1) c
  join log_blocks b using (first_checkpoint)`;

const BLOCKS = `
  select first_checkpoint as "firstCheckpoint", count, times, digests from log_blocks
  where first_checkpoint >= $1 and first_checkpoint < $2 order by first_checkpoint limit $3`;

type BlockEnd = { readonly next: bigint; readonly hash: Uint8Array };

/** @param from,to the stretch, `to` excluded */
export const blockChainEnd = async (sql: Sql, from: bigint, to: bigint): Promise<BlockEnd> => {
  const [row] = await sql.unsafe<BlockEnd[]>(END, [`${from}`, `${to}`], { prepare: true });
  return row ?? { next: from, hash: START };
};

/** Checkpoints whose blocks form one chain; `to` is excluded. */
export type BlockStretch = { readonly from: bigint; readonly to: bigint; readonly filled: boolean };

/** Both stretches, the filled-in one first. */
export const blockStretches = async (sql: Sql): Promise<readonly BlockStretch[]> => {
  const [row] = await sql.unsafe<Stretches[]>(STRETCH, [], { prepare: true });
  if (row === undefined) return [];
  const { firstCheckpoint, filledTo, appendedFrom, nextCheckpoint } = row;
  const stretches = [
    { from: firstCheckpoint, to: filledTo, filled: true },
    { from: appendedFrom, to: nextCheckpoint, filled: false },
  ];
  return stretches.filter(({ from, to }) => from < to);
};

const CONTAINING = `
  select first_checkpoint as "firstCheckpoint", count, times, digests from log_blocks
  where first_checkpoint >= coalesce(
    (select max(first_checkpoint) from log_blocks where first_checkpoint <= $1), $1)
  order by first_checkpoint limit $2`;

/**
 * Chain hashes (hex) at these checkpoints, computed from times and digests alone; checkpoints with
 * missing blocks are left out.
 * @param from first checkpoint of the stretch
 */
export const blockHashesAt = async (
  sql: Sql,
  from: bigint,
  through: readonly bigint[],
  signal: AbortSignal,
): Promise<ReadonlyMap<bigint, string>> => {
  const due = through
    .filter((checkpoint) => checkpoint >= from)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const hashes = new Map<bigint, string>();
  let hash = START;
  let next = from;
  const guided = await guidedRanges({ sql });
  const isUnread = (first: bigint, last: bigint) =>
    guided.some((range) => range.first <= first && range.last >= last);
  while (due.length > 0) {
    signal.throwIfAborted();
    const parameters = [`${next}`, `${BLOCKS_PER_READ}`];
    const rows = await sql.unsafe<BlockRow[]>(CONTAINING, parameters);
    const before = next;
    for (const row of rows) {
      if (row.firstCheckpoint > next) {
        if (!isUnread(next, row.firstCheckpoint)) return hashes;
        next = row.firstCheckpoint;
        while (due[0] !== undefined && due[0] < next) due.shift();
      }
      const end = row.firstCheckpoint + BigInt(row.count);
      while (next < end) {
        const [target = end] = due;
        const upTo = target < end ? target + 1n : end;
        hash = blockHash(hash, partOf(row, next, upTo));
        next = upTo;
        if (next === target + 1n) hashes.set(target, Buffer.from(hash).toString("hex"));
        while (due[0] !== undefined && due[0] < next) due.shift();
      }
    }
    if (next === before) return hashes;
  }
  return hashes;
};

const STORED = `
  select t.through, encode(c.hash, 'hex') as hash
  from unnest($1::int8[]) t(through)
  join lateral (
    select first_checkpoint, count from log_blocks where first_checkpoint <= t.through
    order by first_checkpoint desc limit 1) b on b.first_checkpoint + b.count - 1 = t.through
  join log_block_chain c using (first_checkpoint)`;

/** Stored hashes for those of the checkpoints that end a block. */
export const storedBlockHashes = async (
  sql: Sql,
  from: bigint,
  through: readonly bigint[],
): Promise<ReadonlyMap<bigint, string>> => {
  const stretch = (await blockStretches(sql)).find((one) => one.from === from);
  const ends = through.filter((last) => stretch && last >= from && last < stretch.to);
  const rows = await sql.unsafe<{ through: bigint; hash: string }[]>(STORED, [bigints(ends)]);
  return new Map(rows.map((row) => [row.through, row.hash]));
};

/** @param to excluded */
const partOf = (
  { firstCheckpoint, times, digests }: BlockRow,
  from: bigint,
  to: bigint,
): BlockRow => {
  const [begin, end] = [Number(from - firstCheckpoint), Number(to - firstCheckpoint)];
  return {
    firstCheckpoint: from,
    count: end - begin,
    times: times.subarray(begin * 8, end * 8),
    digests: digests.subarray(begin * 32, end * 32),
  };
};

/** The first stretch whose chain is incomplete, and its end; null when both are complete. */
const openStretch = async (sql: Sql) => {
  for (const { from, to } of await blockStretches(sql)) {
    const end = await blockChainEnd(sql, from, to);
    if (end.next < to) return { to, end };
  }
  return null;
};

/** Last checkpoint of an incomplete chain; null when complete. */
export const blockChainGap = async (sql: Sql): Promise<bigint | null> => {
  const open = await openStretch(sql);
  return open === null ? null : open.end.next - 1n;
};

/**
 * Completes the chain of an older version by a bounded number of blocks; returns whether any were
 * missing.
 * @param sql of a transaction that excludes appends and other completions
 */
export const extendBlockChain = async (sql: Sql): Promise<boolean> => {
  const open = await openStretch(sql);
  if (open === null) return false;
  const range = [open.end.next, open.to, BLOCKS_PER_READ].map(String);
  const rows = await sql.unsafe<BlockRow[]>(BLOCKS, range, { prepare: true });
  await appendRows(sql, logBlockChain, blockLinks(open.end.hash, rows));
  return rows.length > 0;
};
