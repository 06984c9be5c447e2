import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { appendAtOnce, NOTHING, together, type Writing, writeAfter } from "../database/writing.ts";
import type { FactBatch } from "../log/fact.ts";
import { type CheckpointDigest, digestsOf, NO_ROWS } from "../projections/digest-lines.ts";
import { shownDigest } from "../projections/digests.ts";
import { WatermarkMovedError } from "../projections/watermark.ts";
import type { RunnablePipeline } from "./pipeline.ts";

/** The digest that a pipeline's next batch goes on from, so that it need not be read for every batch. */
export type DigestChain = {
  /** As it stands after the last batch; null: the pipeline's digests are not filled in yet. */
  before(on: Transactor, pipeline: RunnablePipeline): Promise<Uint8Array | null>;
  moved(digest: Uint8Array): void;
  /** It is to be read anew: something else may have moved it. */
  forget(): void;
};

/** Reads the digest once, and remembers what batches make of it. */
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
  { name, watermark, layout }: RunnablePipeline,
): Promise<Uint8Array | null> => {
  const [row] = await sql<{ digest: Buffer | null; layout: number }[]>`
    select digest, layout from ${sql(getTableName(watermark))} where pipeline = ${name}`;
  return row !== undefined && row.layout >= layout ? (row.digest ?? NO_ROWS) : null;
};

/**
 * Applies one batch: rows and watermark together, compare-and-set on the next checkpoint. A batch of few
 * rows is one statement, one of many a transaction. Returns how many rows it made.
 *
 * @param on the session that holds the pipeline's lock, or (in tests and tools) any database
 * @param chain where one after the other is applied: what the last one left
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws UndecodableFactError (stop) before anything is written
 */
export const applyBatch = async (
  on: Transactor,
  pipeline: RunnablePipeline,
  batch: FactBatch,
  chain: DigestChain = digestChain(),
): Promise<number> => {
  const rows = await pipeline.prepare(batch.facts, on);
  const digested = pipeline.digests;
  const before = digested && rows.count > 0 ? await chain.before(on, pipeline) : null;
  const span = { first: batch.first, last: batch.last.sequence };
  const digests = before === null ? [] : digestsOf(before, pipeline.layout, rows.lines(span));
  const newest = digests.at(-1);
  const moving = moveWatermark(pipeline, batch, newest);
  const all = [rows.atOnce, ...(digested ? [appendAtOnce(digested, digests)] : [])];
  const atOnce = together(all)(moving.given.length + 1);
  const move = async (sql: Sql, writing: Writing) => {
    const moved = await writeAfter(sql, moving, writing);
    if (!moved) throw new WatermarkMovedError(pipeline.name, batch.first);
  };
  const write = () => {
    if (atOnce !== undefined) return on.statement((sql) => move(sql, atOnce));
    return on.transaction(async (tx) => {
      // The watermark first: a second writer queues on its row. The rows follow without waiting for the
      // answer, one round trip less; when the watermark had moved, both are rolled back. Neither may
      // still be running by then, hence allSettled.
      const [moved, written] = await Promise.allSettled([move(tx.sql, NOTHING), rows.write(tx)]);
      if (moved.status === "rejected") throw moved.reason;
      if (written.status === "rejected") throw written.reason;
      if (digested) await appendRows(tx.sql, digested, digests);
    });
  };
  try {
    await write();
  } catch (error) {
    // Whether it was committed may not be known.
    chain.forget();
    throw error;
  }
  if (newest !== undefined) chain.moved(newest.digest);
  return rows.count;
};

const moveWatermark = (
  { name, watermark }: RunnablePipeline,
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
