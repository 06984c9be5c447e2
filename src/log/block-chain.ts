/**
 * The hash chain over times and digests of checkpoints: for each checkpoint
 *
 *     hash = SHA-256(hash before, or 32 zero bytes where its stretch begins; checkpoint and time in ms,
 *            u64 big-endian each; digest, 32 bytes)
 *
 * and for each row of `log_blocks` the hash behind its last checkpoint. The stretch that follows the
 * appends and the one that is filled in have a chain each.
 */
import { createHash } from "node:crypto";
import { bigints } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { STRETCHES, type Stretches } from "./blocks.ts";
import { START } from "./chain-hash.ts";
import type { Block } from "./fact.ts";
import { logBlockChain } from "./tables.ts";

type BlockRow = Block & { readonly firstCheckpoint: bigint; readonly count: number };
type ChainRow = typeof logBlockChain.$inferSelect;

/** The hash behind the last checkpoint of a block. */
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

/** The rows of the chain beside rows of blocks that follow one another behind `before`. */
export const blockLinks = (before: Uint8Array, rows: readonly BlockRow[]): readonly ChainRow[] => {
  let hash = before;
  return rows.map((row) => {
    hash = blockHash(hash, row);
    return { firstCheckpoint: row.firstCheckpoint, hash };
  });
};

/** Rows of blocks that are read at once. */
const BLOCKS_AT_ONCE = 500;

const STRETCH = `select ${STRETCHES} from log_high_water log`;

/** The last row of the chain at or above a checkpoint and below another one, and where its block ends. */
const END = `
  select c.hash, b.first_checkpoint + b.count as next
  from (select first_checkpoint, hash from log_block_chain
        where first_checkpoint >= $1 and first_checkpoint < $2
        order by first_checkpoint desc limit 1) c
  join log_blocks b using (first_checkpoint)`;

const BLOCKS = `
  select first_checkpoint as "firstCheckpoint", count, times, digests from log_blocks
  where first_checkpoint >= $1 and first_checkpoint < $2 order by first_checkpoint limit $3`;

/** Where the chain of a stretch ends. */
export type BlockEnd = { readonly next: bigint; readonly hash: Uint8Array };

/** @param from,to the stretch: the second one excluded */
export const blockChainEnd = async (sql: Sql, from: bigint, to: bigint): Promise<BlockEnd> => {
  const [row] = await sql.unsafe<BlockEnd[]>(END, [`${from}`, `${to}`], { prepare: true });
  return row ?? { next: from, hash: START };
};

/** Checkpoints whose blocks have one chain; `to` is excluded. */
export type BlockStretch = { readonly from: bigint; readonly to: bigint; readonly filled: boolean };

/** Both stretches of blocks, those filled in first; the end of each is excluded. */
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
 * The hashes behind these checkpoints in the chain that begins with `from`, hex: made from times and digests
 * alone, wherever the blocks begin and end. One that blocks are missing for is missing.
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
  while (due.length > 0) {
    signal.throwIfAborted();
    const parameters = [`${next}`, `${BLOCKS_AT_ONCE}`];
    const rows = await sql.unsafe<BlockRow[]>(CONTAINING, parameters);
    const before = next;
    for (const row of rows) {
      if (row.firstCheckpoint > next) return hashes;
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

/** Those of the same that are the end of a block, as the chain has them. */
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

/** The stretch whose chain ends first before it does, and that end; null when both chains are whole. */
const openStretch = async (sql: Sql) => {
  for (const { from, to } of await blockStretches(sql)) {
    const end = await blockChainEnd(sql, from, to);
    if (end.next < to) return { to, end };
  }
  return null;
};

/** The last checkpoint that the chain of a stretch has, where it is shorter than that; null else. */
export const blockChainGap = async (sql: Sql): Promise<bigint | null> => {
  const open = await openStretch(sql);
  return open === null ? null : open.end.next - 1n;
};

/**
 * Adds to the chain what an older version left out, a bounded number of blocks; returns whether there
 * was something to add.
 * @param sql of a transaction that no append and no other completion runs beside
 */
export const extendBlockChain = async (sql: Sql): Promise<boolean> => {
  const open = await openStretch(sql);
  if (open === null) return false;
  const range = [open.end.next, open.to, BLOCKS_AT_ONCE].map(String);
  const rows = await sql.unsafe<BlockRow[]>(BLOCKS, range, { prepare: true });
  await appendRows(sql, logBlockChain, blockLinks(open.end.hash, rows));
  return rows.length > 0;
};
