import { getTableName } from "drizzle-orm";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import { NOTHING, type Writing, writeAfter } from "../database/writing.ts";
import type { FactBatch } from "../log/fact.ts";
import { append, asParts, type BatchWrite, writeAll } from "../projections/batch-write.ts";
import type { DigestLine } from "../projections/digest-lines.ts";
import { type CheckpointDigest, digestsOf, NO_ROWS, shownDigest } from "../projections/digests.ts";
import {
  firstHeld,
  type HeldCoins,
  heldIn,
  heldText,
  MOST_HELD,
} from "../projections/held-coins.ts";
import {
  type LeftOut,
  leftOutIn,
  leftOutOf,
  withoutLeftOut,
} from "../projections/left-out-facts.ts";
import {
  LayoutAheadError,
  type ProgressTables,
  TablesExchangedError,
  WatermarkMovedError,
} from "../projections/progress-tables.ts";
import { noteHolds } from "../projections/quarantines.ts";
import { refusedCoins, type SoundRows, soundRows } from "./held-rows.ts";
import type { Pipeline } from "./pipeline.ts";

/** What a pipeline's next batch extends. */
type Before = {
  /** The digest after the last batch; null while the pipeline's digests are being filled in, or a coin is held. */
  readonly digest: Uint8Array | null;
  /** Changes when the tables are emptied, exchanged for those of a replay, or given a held coin's facts. */
  readonly rebuilds: number;
  readonly held: HeldCoins;
  readonly leftOut: LeftOut;
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
      // An exchange of tables, a release and the end of a fill count as rebuilds, so that a batch made before fails.
      known ??= await on.statement((sql) => readBefore(sql, pipeline));
      return known;
    },
    moved: (digest) => {
      if (known !== undefined) known = { ...known, digest };
    },
    forget: () => {
      known = undefined;
    },
  };
};

type BeforeRow = {
  readonly digest: Buffer | null;
  readonly layout: number;
  readonly rebuilds: number;
  readonly held: string | null;
  readonly leftOut: string | null;
  readonly undigested: boolean;
};

const readBefore = async (
  sql: Sql,
  { name, watermark, layout }: ProgressTables,
): Promise<Before> => {
  const [row] = await sql<BeforeRow[]>`
    select digest, layout, rebuilds, held::text as held, undigested_from is not null as undigested,
           ${sql.unsafe(leftOutOf("w.pipeline"))} as "leftOut"
    from ${sql(getTableName(watermark))} w where pipeline = ${name}`;
  if (row === undefined) return { digest: null, rebuilds: 0, held: new Map(), leftOut: new Set() };
  if (row.layout > layout) throw new LayoutAheadError(name);
  const hasDigest = row.layout >= layout && !row.undigested;
  return {
    digest: hasDigest ? (row.digest ?? NO_ROWS) : null,
    rebuilds: row.rebuilds,
    held: heldIn(row.held),
    leftOut: leftOutIn(row.leftOut),
  };
};

/**
 * Applies one batch: rows and watermark together, compare-and-set on the next checkpoint. A batch of few
 * rows is one statement, one of many a transaction. Returns the number of rows.
 *
 * A coin with a fact that cannot be applied is held from its checkpoint on, in the same transaction; the other coins'
 * facts are applied.
 *
 * @param on the session that holds the pipeline's lock, or (in tests and tools) any database
 * @param chain one for all batches of a run
 * @param onHeld called with the coins that are held from this batch on
 * @throws WatermarkMovedError (stop) when the watermark does not expect `batch.first`: it was applied
 *   already, or another process runs this pipeline
 * @throws TablesExchangedError (retry) when the tables are no longer those that the batch was made from
 * @throws LayoutAheadError (stop) when a newer version has exchanged the tables
 * @throws UnappliableFactError (stop) before anything is written, see `soundRows`
 */
export const applyBatch = async (
  on: Transactor,
  pipeline: Pipeline,
  batch: FactBatch,
  chain: DigestChain = digestChain(),
  onHeld: (found: HeldCoins) => void = () => {},
): Promise<number> => {
  for (let refused = NONE; ; ) {
    // Read before the rows are made: if the tables are exchanged in between, the batch fails.
    const before = await chain.before(on, pipeline);
    const facts = withoutLeftOut(batch.facts, before.leftOut);
    const sound = await soundRows(pipeline, facts, on, before.held, refused);
    try {
      const rows = await applySound(on, pipeline, batch, { before, sound, chain });
      if (sound.found.size > 0) onHeld(sound.found);
      return rows;
    } catch (error) {
      // The commit's outcome may be unknown.
      chain.forget();
      // In a transaction of the caller nothing can be tried: the error stays as it is.
      const found = await refusedCoins(pipeline, sound.facts, on, error).catch(() => NONE);
      if (found.size === 0 || before.held.size + sound.found.size >= MOST_HELD) throw error;
      refused = new Map([...sound.found, ...found]);
    }
  }
};

const NONE: HeldCoins = new Map();

type Sound = {
  readonly before: Before;
  readonly sound: SoundRows;
  readonly chain: DigestChain;
};

const applySound = async (
  on: Transactor,
  pipeline: Pipeline,
  batch: FactBatch,
  { before, sound: { rows, found }, chain }: Sound,
): Promise<number> => {
  const span = { first: batch.first, last: batch.last.sequence };
  const undigestedFrom = firstHeld(found);
  const isDigested = ({ checkpoint }: DigestLine) =>
    undigestedFrom === undefined || checkpoint < undigestedFrom;
  const digests =
    before.digest === null || rows.count === 0
      ? []
      : digestsOf(before.digest, pipeline.layout, rows.lines(span).filter(isDigested));
  const newest = digests.at(-1);
  const moving = moveWatermark(pipeline, batch, before, newest, found);
  const writes = [...rows.writes, append(pipeline.digests, digests)];
  const also = found.size > 0 ? ({ sql }: Tx) => noteHolds(sql, pipeline) : undefined;
  await writeRows(on, moving, writes, also, async (sql) => {
    const now = await readBefore(sql, pipeline);
    return now.rebuilds === before.rebuilds
      ? new WatermarkMovedError(pipeline.name, batch.first)
      : new TablesExchangedError(pipeline.name);
  });
  if (found.size > 0) chain.forget();
  else if (newest !== undefined) chain.moved(newest.digest);
  return rows.count;
};

/** A statement that yields one row when it moved a watermark. */
export type Moving = { readonly mark: string; readonly given: readonly (string | bigint)[] };

/**
 * Writes rows in the transaction that moves a watermark: all of it or nothing.
 * @param also runs last in that transaction
 * @throws what `unmoved` makes when the watermark is not where it was expected
 */
export const writeRows = async (
  on: Transactor,
  moving: Moving,
  writes: readonly BatchWrite[],
  also: ((tx: Tx) => Promise<void>) | undefined,
  unmoved: (sql: Sql) => Promise<Error>,
): Promise<void> => {
  const parts = asParts(writes, moving.given.length + 1);
  const move = async (sql: Sql, writing: Writing) => {
    if (!(await writeAfter(sql, moving, writing))) throw await unmoved(sql);
  };
  if (parts !== undefined && also === undefined) return on.statement((sql) => move(sql, parts));
  return on.transaction(async (tx) => {
    // The watermark first: a second writer queues on its row. The rows follow in the same round trip, and
    // are rolled back if the watermark had moved. allSettled, so that neither still runs by then.
    const [moved, written] = await Promise.allSettled([
      move(tx.sql, NOTHING),
      writeAll(tx, writes),
    ]);
    if (moved.status === "rejected") throw moved.reason;
    if (written.status === "rejected") throw written.reason;
    await also?.(tx);
  });
};

const moveWatermark = (
  { name, watermark }: ProgressTables,
  { first, last }: FactBatch,
  { rebuilds }: Before,
  newest: CheckpointDigest | undefined,
  found: HeldCoins,
): Moving => {
  const { sequence, digest: lastDigest, timestampMs } = last;
  const given = [sequence + 1n, sequence, lastDigest, timestampMs, name, first, `${rebuilds}`];
  const also: string[] = [];
  const parameter = (value: string | bigint) => `$${given.push(value)}`;
  if (newest !== undefined) {
    also.push(`digest = decode(${parameter(shownDigest(newest.digest))}, 'hex')`);
  }
  const undigestedFrom = firstHeld(found);
  if (undigestedFrom !== undefined) {
    also.push(
      `held = coalesce(held, '{}') || ${parameter(heldText(found))}::jsonb`,
      `undigested_from = least(undigested_from, ${parameter(undigestedFrom)}::int8)`,
    );
  }
  return {
    mark: `
      update ${getTableName(watermark)}
      set next_checkpoint = $1, last_checkpoint = $2, last_digest = $3, last_timestamp_ms = $4,
          rebuilding_to = case when rebuilding_to > $2 then rebuilding_to end,
          committed_at = clock_timestamp()${also.map((each) => `, ${each}`).join("")}
      where pipeline = $5 and next_checkpoint = $6 and rebuilds = $7
      returning 1`,
    given,
  };
};
