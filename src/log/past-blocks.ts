/** Fills in blocks that an older version did not write, from the log's first checkpoint on. */
import type { Sql, Transactor } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { base58 } from "../values/base58.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { blockRows, countOf, markAt } from "./block.ts";
import { blockChainEnd, blockLinks } from "./block-chain.ts";
import { STRETCHES, type Stretches } from "./blocks.ts";
import type { Block, CheckpointMark } from "./fact.ts";
import { markOf } from "./high-water.ts";
import { logBlockChain, logBlocks } from "./tables.ts";

/**
 * A checkpoint differs from the log's: the source is of another chain, or damaged. Nothing was
 * used. Point LEDGER_SOURCE at the log's chain.
 */
export class OtherCheckpointError extends Error {
  override readonly name = "OtherCheckpointError";
  readonly remedy: Remedy = "stop";

  constructor({ sequence, digest }: CheckpointMark, known: string) {
    super(
      `checkpoint ${sequence} has digest ${digest}, but the log has ${known}; the source or the log is of another chain, or damaged`,
    );
  }
}

/** The rest to fill in. */
export type PastStretch = {
  readonly begin: bigint;
  readonly next: bigint;
  readonly last: bigint;
  /** Digest of the checkpoint before `next`; null at the log's first. */
  readonly previousDigest: string | null;
  /** Latest time filled in so far, Unix ms; 0 before the first. */
  readonly reachedMs: bigint;
  /** The checkpoint with a known digest at the end: `last` or the next one. */
  readonly known: Pick<CheckpointMark, "sequence" | "digest">;
};

type Row = Stretches & {
  readonly previousDigest: Buffer | null;
  readonly reachedMs: bigint | null;
  readonly appendedTime: Buffer | null;
  readonly appendedDigest: Buffer | null;
  readonly lastCheckpoint: bigint | null;
  readonly lastDigest: string | null;
  readonly lastTimestampMs: bigint | null;
};

/** The rest to fill in; null when none. */
export const pastStretch = async (sql: Sql): Promise<PastStretch | null> => {
  const [row] = await sql.unsafe<Row[]>(STRETCH, [], { prepare: true });
  if (row === undefined || row.filledTo >= row.appendedFrom) return null;
  const { filledTo: next, appendedFrom, previousDigest, reachedMs } = row;
  const { appendedTime, appendedDigest } = row;
  const last = appendedFrom - 1n;
  const known =
    appendedTime === null || appendedDigest === null
      ? markOf(row.lastCheckpoint, row.lastDigest, row.lastTimestampMs)
      : markAt(appendedFrom, { times: appendedTime, digests: appendedDigest }, 0);
  if (known === null)
    throw new Error("log_high_water: checkpoints were read, and none was the last");
  return {
    begin: row.firstCheckpoint,
    next,
    last,
    previousDigest: previousDigest && base58(previousDigest),
    reachedMs: reachedMs ?? 0n,
    known,
  };
};

const STRETCH = `
  select ${STRETCHES},
         filled.digest as "previousDigest", filled.reached_ms as "reachedMs",
         appended.time as "appendedTime", appended.digest as "appendedDigest",
         log.last_checkpoint as "lastCheckpoint", log.last_digest as "lastDigest",
         log.last_timestamp_ms as "lastTimestampMs"
  from log_high_water log
  left join lateral (
    select substring(digests from (count - 1) * 32 + 1 for 32) as digest, reached_ms
    from log_blocks where filled order by reached_ms desc, first_checkpoint desc limit 1
  ) as filled on true
  left join lateral (
    select substring(times for 8) as time, substring(digests for 32) as digest
    from log_blocks where not filled order by reached_ms, first_checkpoint limit 1
  ) as appended on true`;

/**
 * Fills in checkpoints from `stretch.next` on.
 * @param on session of the log's writer lock
 * @throws OtherCheckpointError (stop) when the log has one under another digest or time; nothing is
 * written
 */
export const fillIn = async (on: Transactor, stretch: PastStretch, block: Block): Promise<void> => {
  const { next: first, reachedMs } = stretch;
  const count = countOf(block) ?? 0;
  const next = first + BigInt(count);
  const rows = blockRows([{ first, ...block }], { reachedMs, filled: true });
  await on.transaction(async ({ sql }) => {
    const withFacts = await sql<{ checkpoint: bigint; digest: string; timestamp_ms: bigint }[]>`
      select checkpoint, digest, timestamp_ms from log_checkpoints
      where checkpoint >= ${first} and checkpoint < ${next} order by checkpoint`;
    for (const { checkpoint, digest, timestamp_ms } of withFacts) {
      const mark = markAt(first, block, Number(checkpoint - first));
      if (mark.digest !== digest || mark.timestampMs !== timestamp_ms) {
        throw new OtherCheckpointError(mark, digest);
      }
    }
    await appendRows(sql, logBlocks, rows);
    const end = await blockChainEnd(sql, stretch.begin, first);
    // An incomplete chain is completed elsewhere.
    if (end.next === first) await appendRows(sql, logBlockChain, blockLinks(end.hash, rows));
  });
};
