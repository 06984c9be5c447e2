import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import { NOTHING, type Writing, writeAfter } from "../database/writing.ts";
import type { FactBatch } from "../log/fact.ts";
import { append, asParts, writeAll } from "../projections/batch-write.ts";
import { type CheckpointDigest, digestsOf, NO_ROWS, shownDigest } from "../projections/digests.ts";
import { type ProgressTables, WatermarkMovedError } from "../projections/progress-tables.ts";
import { makeRows, type Pipeline } from "./pipeline.ts";

/** Caches the digest that a pipeline's next batch extends. */
export type DigestChain = {
  /** The digest after the last batch; null while the pipeline's digests are being filled in. */
  before(on: Transactor, pipeline: ProgressTables): Promise<Uint8Array | null>;
  moved(digest: Uint8Array): void;
  /** Invalidates the cache: another writer may have moved the digest. */
  forget(): void;
};

export const digestChain = (): DigestChain => {
  let known: Uint8Array | null | undefined;
  return {
    before: async (on, pipeline) => {
      known ??= await on.statement((sql) => readDigest(sql, pipeline));
      return known;
    },
    moved: (digest) => {
      known = digest;
    },
    forget: () => {
      known = undefined;
    },
  };
};

const readDigest = async (
  sql: Sql,
  { name, watermark, layout }: ProgressTables,
): Promise<Uint8Array | null> => {
  const [row] = await sql<{ digest: Buffer | null; layout: number }[]>`
    select digest, layout from ${sql(getTableName(watermark))} where pipeline = ${name}`;
  return row !== undefined && row.layout >= layout ? (row.digest ?? NO_ROWS) : null;
};

/**
 * Applies one batch: rows and watermark together, compare-and-set on the next checkpoint. A batch of few
 * rows is one statement, one of many a transaction. Returns the number of rows.
 *
 * @param on the session that holds the pipeline's lock, or (in tests and tools) any database
 * @param chain one for all batches of a run
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws UndecodableFactError (stop) before anything is written
 */
export const applyBatch = async (
  on: Transactor,
  pipeline: Pipeline,
  batch: FactBatch,
  chain: DigestChain = digestChain(),
): Promise<number> => {
  const rows = await makeRows(pipeline, batch.facts, on);
  const before = rows.count > 0 ? await chain.before(on, pipeline) : null;
  const span = { first: batch.first, last: batch.last.sequence };
  const digests = before === null ? [] : digestsOf(before, pipeline.layout, rows.lines(span));
  const newest = digests.at(-1);
  const moving = moveWatermark(pipeline, batch, newest);
  const writes = [...rows.writes, append(pipeline.digests, digests)];
  const parts = asParts(writes, moving.given.length + 1);
  const move = async (sql: Sql, writing: Writing) => {
    const moved = await writeAfter(sql, moving, writing);
    if (!moved) throw new WatermarkMovedError(pipeline.name, batch.first);
  };
  const write = () => {
    if (parts !== undefined) return on.statement((sql) => move(sql, parts));
    return on.transaction(async (tx) => {
      // The watermark first: a second writer queues on its row. The rows follow in the same round trip, and
      // are rolled back if the watermark had moved. allSettled, so that neither still runs by then.
      const [moved, written] = await Promise.allSettled([
        move(tx.sql, NOTHING),
        writeAll(tx, writes),
      ]);
      if (moved.status === "rejected") throw moved.reason;
      if (written.status === "rejected") throw written.reason;
    });
  };
  try {
    await write();
  } catch (error) {
    // The commit's outcome may be unknown.
    chain.forget();
    throw error;
  }
  if (newest !== undefined) chain.moved(newest.digest);
  return rows.count;
};

const moveWatermark = (
  { name, watermark }: ProgressTables,
  { first, last }: FactBatch,
  newest: CheckpointDigest | undefined,
) => {
  const given = [last.sequence + 1n, last.sequence, last.digest, last.timestampMs, name, first];
  const digest = newest === undefined ? "" : ", digest = decode($7, 'hex')";
  return {
    mark: `
      update ${getTableName(watermark)}
      set next_checkpoint = $1, last_checkpoint = $2, last_digest = $3, last_timestamp_ms = $4,
          rebuilding_to = case when rebuilding_to > $2 then rebuilding_to end,
          committed_at = clock_timestamp()${digest}
      where pipeline = $5 and next_checkpoint = $6
      returning 1`,
    given: newest === undefined ? given : [...given, shownDigest(newest.digest)],
  };
};
