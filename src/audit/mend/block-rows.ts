/** Rows that the log has to have of the times and digests of checkpoints. */
import type { Sql } from "../../database/connect.ts";
import { blockRows, piecesOf } from "../../log/block.ts";
import { blockLinks } from "../../log/block-chain.ts";
import { START } from "../../log/chain-hash.ts";
import { type BlocksPlace, checkBlocks } from "../../log/check-blocks.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { guidedRanges, partsOf } from "../../log/guided.ts";
import { logBlockChain, logBlocks } from "../../log/tables.ts";
import { type Change, changesOf, storedRows } from "./rows.ts";

/** Checkpoints of one block or of several; `to` is excluded. */
export type BlockRegion = { readonly from: bigint; readonly to: bigint };

/**
 * The region of a block that is wrong: its bounds are those of the chain, because rows of `log_blocks` may be missing
 * or too many.
 */
export const regionOf = async (
  sql: Sql,
  checkpoint: bigint,
  { first, next }: { readonly first: bigint; readonly next: bigint },
): Promise<BlockRegion> => {
  const [row] = await sql<{ from: bigint | null; to: bigint | null }[]>`
    select (select max(first_checkpoint) from log_block_chain
            where first_checkpoint <= ${checkpoint} and first_checkpoint >= ${first}) as from,
           (select min(first_checkpoint) from log_block_chain where first_checkpoint > ${checkpoint}) as to`;
  return { from: row?.from ?? first, to: row?.to ?? next };
};

/**
 * Checkpoints of a region that the log has to have: all of those that were read whole, and of those
 * that were read guided each that has a proof.
 */
export const dueIn = async (
  sql: Sql,
  { from, to }: BlockRegion,
): Promise<readonly BlockRegion[]> => {
  const due: BlockRegion[] = [];
  for (const part of partsOf({ first: from, last: to - 1n }, await guidedRanges({ sql }))) {
    if (!part.guided) {
      due.push({ from: part.first, to: part.last + 1n });
      continue;
    }
    const proven = await sql<{ at: bigint }[]>`
      select last_checkpoint as at from log_proofs
      where last_checkpoint between ${part.first} and ${part.last} order by 1`;
    for (const { at } of proven) {
      const last = due.at(-1);
      if (last?.to === at) due[due.length - 1] = { ...last, to: at + 1n };
      else due.push({ from: at, to: at + 1n });
    }
  }
  return due;
};

/** Links whose blocks were deleted: the check of blocks may take them for checkpoints that are not filled in. */
export const strayLinks = async (sql: Sql): Promise<readonly bigint[]> => {
  const rows = await sql<{ checkpoint: bigint }[]>`
    select first_checkpoint as checkpoint
    from log_block_chain c left join log_blocks b using (first_checkpoint)
    where b.first_checkpoint is null order by 1 limit 200`;
  return rows.map(({ checkpoint }) => checkpoint);
};

/** Checkpoints that were read guided and have a proof, but no block. */
export const strayProofs = async (sql: Sql): Promise<readonly bigint[]> => {
  const rows = await sql<{ checkpoint: bigint }[]>`
    select p.last_checkpoint as checkpoint
    from log_guided g
    join log_proofs p on p.last_checkpoint between g.first_checkpoint and g.last_checkpoint
    left join lateral (
      select first_checkpoint + count as next from log_blocks
      where first_checkpoint <= p.last_checkpoint order by first_checkpoint desc limit 1
    ) as block on true
    where block.next is null or block.next <= p.last_checkpoint
    order by 1 limit 200`;
  return rows.map(({ checkpoint }) => checkpoint);
};

type BlockBefore = {
  readonly filled: boolean;
  readonly reachedMs: bigint;
  readonly hash: Buffer | null;
};

const placeBefore = async (sql: Sql, from: bigint): Promise<BlocksPlace> => {
  const [row] = await sql<BlockBefore[]>`
    select b.filled, b.reached_ms as "reachedMs", c.hash
    from log_blocks b left join log_block_chain c using (first_checkpoint)
    where b.first_checkpoint < ${from} and b.first_checkpoint >= 0
    order by b.first_checkpoint desc limit 1`;
  if (row === undefined) return { next: null, filled: true, hash: START, reachedMs: 0n };
  return { next: from, ...row, hash: row.hash ?? START };
};

/**
 * Differences between the blocks of a region and its checkpoints as they were read again.
 * @param marks all of the region that the log has to have, ascending
 */
export const blockChanges = async (
  sql: Sql,
  { from, to }: BlockRegion,
  marks: readonly CheckpointMark[],
): Promise<readonly Change[]> => {
  const where = "first_checkpoint >= $1 and first_checkpoint < $2";
  const stored = await storedRows(sql, logBlocks, where, [from, to]);
  const chained = await storedRows(sql, logBlockChain, where, [from, to]);
  const pieces = piecesOf(marks);
  const before = await placeBefore(sql, from);
  const made = (filled: boolean) => {
    const follows = before.next !== null && before.filled === filled;
    const rows = blockRows(pieces, {
      reachedMs: follows ? before.reachedMs : 0n,
      filled,
    });
    return { rows, links: blockLinks(follows ? before.hash : START, rows) };
  };
  const [first] = stored;
  const isFilled = first === undefined ? before.next !== null && before.filled : first.filled;
  let { rows, links } = made(isFilled === true);
  const [link] = chained;
  // Its mark of the filled-in stretch may be what was altered: the chain tells.
  if (link !== undefined && !isLinked(links, link.hash)) {
    const other = made(isFilled !== true);
    if (isLinked(other.links, link.hash)) ({ rows, links } = other);
  }
  const firstOf = ({ firstCheckpoint }: { readonly firstCheckpoint?: unknown }) =>
    typeof firstCheckpoint === "bigint" ? firstCheckpoint : from;
  return [
    ...changesOf(logBlocks, stored, rows, firstOf),
    ...changesOf(logBlockChain, chained, links, firstOf),
  ];
};

const isLinked = (links: ReturnType<typeof blockLinks>, hash: unknown): boolean =>
  hash instanceof Uint8Array && Buffer.from(links[0]?.hash ?? START).equals(hash);

/** Whether a region, and the block after it, fit their chain; the first difference otherwise. */
export const regionFault = async (sql: Sql, { from, to }: BlockRegion): Promise<string | null> => {
  const place = await placeBefore(sql, from);
  const { faults } = await checkBlocks(sql, place, to + 1n);
  return faults.find(({ checkpoint }) => checkpoint <= to)?.what ?? null;
};
