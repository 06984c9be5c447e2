import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import { NOTHING, type Writing, writeAfter } from "../database/writing.ts";
import type { FactBatch } from "../log/fact.ts";
import { append, asParts, writeAll } from "../projections/batch-write.ts";
import { type CheckpointDigest, digestsOf, NO_ROWS, shownDigest } from "../projections/digests.ts";
import {
  LayoutAheadError,
  type ProgressTables,
  TablesExchangedError,
  WatermarkMovedError,
} from "../projections/progress-tables.ts";
import { makeRows, type Pipeline } from "./pipeline.ts";

/** What a pipeline's next batch extends. */
type Before = {
  /** The digest after the last batch; null while the pipeline's digests are being filled in. */
  readonly digest: Uint8Array | null;
  /** Changes when the tables are emptied, or exchanged for those of a replay. */
  readonly rebuilds: number;
};

/** Caches what the next batch extends. */
export type DigestChain = {
  before(on: Transactor, pipeline: ProgressTables): Promise<Before>;
  moved(digest: Uint8Array): void;
  /** Invalidates the cache: another writer may have moved the digest. */
  forget(): void;
};

export const digestChain = (): DigestChain => {
  let known: Before | undefined;
  return {
    before: async (on, pipeline) => {
      const read = known ?? (await on.statement((sql) => readBefore(sql, pipeline)));
      if (read.digest !== null) known = read;
      return read;
    },
    moved: (digest) => {
      if (known !== undefined) known = { ...known, digest };
    },
    forget: () => {
      known = undefined;
    },
  };
};

const readBefore = async (
  sql: Sql,
  { name, watermark, layout }: ProgressTables,
): Promise<Before> => {
  const [row] = await sql<{ digest: Buffer | null; layout: number; rebuilds: number }[]>`
    select digest, layout, rebuilds from ${sql(getTableName(watermark))} where pipeline = ${name}`;
  if (row === undefined) return { digest: null, rebuilds: 0 };
  if (row.layout > layout) throw new LayoutAheadError(name);
  return { digest: row.layout >= layout ? (row.digest ?? NO_ROWS) : null, rebuilds: row.rebuilds };
};

/**
 * Applies one batch: rows and watermark together, compare-and-set on the next checkpoint. A batch of few
 * rows is one statement, one of many a transaction. Returns the number of rows.
 *
 * @param on the session that holds the pipeline's lock, or (in tests and tools) any database
 * @param chain one for all batches of a run
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws TablesExchangedError (retry) when the tables are no longer those that the batch was made from
 * @throws LayoutAheadError (stop) when a newer version has exchanged the tables
 * @throws UndecodableFactError (stop) before anything is written
 */
export const applyBatch = async (
  on: Transactor,
  pipeline: Pipeline,
  batch: FactBatch,
  chain: DigestChain = digestChain(),
): Promise<number> => {
  // Read before the rows are made: if the tables are exchanged in between, the batch fails.
  const before = await chain.before(on, pipeline);
  const rows = await makeRows(pipeline, batch.facts, on);
  const span = { first: batch.first, last: batch.last.sequence };
  const digests =
    before.digest === null || rows.count === 0
      ? []
      : digestsOf(before.digest, pipeline.layout, rows.lines(span));
  const newest = digests.at(-1);
  const moving = moveWatermark(pipeline, batch, before, newest);
  const writes = [...rows.writes, append(pipeline.digests, digests)];
  const parts = asParts(writes, moving.given.length + 1);
  const move = async (sql: Sql, writing: Writing) => {
    const moved = await writeAfter(sql, moving, writing);
    if (moved) return;
    const now = await readBefore(sql, pipeline);
    throw now.rebuilds === before.rebuilds
      ? new WatermarkMovedError(pipeline.name, batch.first)
      : new TablesExchangedError(pipeline.name);
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
  { rebuilds }: Before,
  newest: CheckpointDigest | undefined,
) => {
  const { sequence, digest: lastDigest, timestampMs } = last;
  const given = [sequence + 1n, sequence, lastDigest, timestampMs, name, first, `${rebuilds}`];
  const digest = newest === undefined ? "" : ", digest = decode($8, 'hex')";
  return {
    mark: `
      update ${getTableName(watermark)}
      set next_checkpoint = $1, last_checkpoint = $2, last_digest = $3, last_timestamp_ms = $4,
          rebuilding_to = case when rebuilding_to > $2 then rebuilding_to end,
          committed_at = clock_timestamp()${digest}
      where pipeline = $5 and next_checkpoint = $6 and rebuilds = $7
      returning 1`,
    given: newest === undefined ? given : [...given, shownDigest(newest.digest)],
  };
};
