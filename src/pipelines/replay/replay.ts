/**
 * Builds projections a second time beside the served ones, compares the two row by row at one checkpoint, and puts
 * the new ones in place of the served ones, which go on meanwhile.
 *
 *   make tables -> run to the served checkpoint -> indexes -> run on -> compare -> exchange
 *
 * A replay that ends early resumes where it was. One of a group of pipelines that share tables at a time.
 */
import { setTimeout as delay } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type Blocker, lockingBriefly } from "../../database/brief-locks.ts";
import type { Database, Session, Sql, Tx } from "../../database/connect.ts";
import { databaseRetries, SessionLostError } from "../../database/database-error.ts";
import { within } from "../../database/session.ts";
import { BEFORE_SCHEMA, REPLAY_SCHEMA } from "../../database/work-schemas.ts";
import { requireFacts } from "../../log/facts-archived.ts";
import type { FactSource } from "../../log/log.ts";
import { planAfresh } from "../../projections/plans.ts";
import { noteHolds } from "../../projections/quarantines.ts";
import type { TableDifferences } from "../../projections/replays.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import { type Pipeline, tablesOf } from "../pipeline.ts";
import { registerPipeline } from "../register.ts";
import { beginSnapshot } from "../snapshot.ts";
import { differencesIn, keyOf, pageEnd } from "./compare.ts";
import { noteComparison, noteReplay, noteState, type Reached } from "./progress.ts";
import { approach, beginRuns, runUpTo, type SecondRun, servedNext } from "./second-run.ts";
import {
  assertFormer,
  discardRun,
  dropTables,
  exchangeFormer,
  exchangeTables,
  grantAsServed,
  indexTables,
  type ReplayPlace,
  replaySettings,
  tableNames,
} from "./tables.ts";

export type ReplayProgress = Reached & { readonly pipeline: string };

export type Replaying = {
  /** All pipelines of a group, see `groupOf`. */
  readonly pipelines: readonly Pipeline[];
  /** `BEFORE_SCHEMA`: the former tables catch up instead. As their owner. */
  readonly place?: ReplayPlace;
  /** Tables that an upgrade fills: only they are exchanged, and the former ones dropped. */
  readonly added?: readonly string[];
  /** Of `replaySettings`; its own by default. */
  readonly session?: Session;
  /** Of one batch. */
  readonly bounds?: typeof BOUNDS;
  /** Of the tables' owner, or of the service. */
  readonly database: Database;
  readonly log: FactSource;
  /** Part of the time that it works; in the rest it waits. */
  readonly share: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReplayProgress) => void;
  /** Called every few seconds while others keep the exchange from its locks. */
  readonly onBlocked?: ((blockers: readonly Blocker[]) => void) | undefined;
};

export type Comparison = {
  /** Last checkpoint of each pipeline; null before the first. */
  readonly checkpoints: Readonly<Record<string, bigint | null>>;
  /** Digest of each pipeline's replayed rows, hex; null before the first. */
  readonly digests: Readonly<Record<string, string | null>>;
  /** Rows of the replay, altogether and by table. */
  readonly rows: number;
  readonly tables: Readonly<Record<string, number>>;
  readonly differences: readonly TableDifferences[];
};

/** Facts and bytes of one batch: small, because the served pipelines have priority. */
export const BOUNDS = { maxFacts: 5_000, maxBytes: 8 * 1024 * 1024 };

/** Longest pause between two batches. */
const MOST_PAUSE_MS = 5_000;

/** Differing rows that are shown, over all tables. */
const SHOWN_ROWS = 100;

/** An upgrade is still filling tables of the pipeline from the log. Nothing was changed. Wait until `status` says so. */
export class UpgradeFillingError extends Error {
  override readonly name = "UpgradeFillingError";
  readonly remedy: Remedy = "wait";

  constructor(pipeline: string) {
    super(
      `${pipeline}: an upgrade is still filling its tables; give this command again afterwards`,
    );
  }
}

/** The served rows were emptied or restored since the replay's were made. Drop these (`replay drop`). Stop. */
export class ReplayAheadError extends Error {
  override readonly name = "ReplayAheadError";
  readonly remedy: Remedy = "stop";

  constructor({ name }: Pipeline, { next, of }: Reached) {
    super(
      `${name}: the replayed rows expect checkpoint ${next}, the served ones ${of}; remove them with \`replay drop\``,
    );
  }
}

/** A replay that has reached the served pipelines. */
export type Replayed = AsyncDisposable & {
  compare(): Promise<Comparison>;
  /**
   * Exchanges the tables; the served ones stay in the schema `holderbook_before`.
   * @param alsoIn runs in the same transaction
   */
  swap(on: Pick<Session, "transaction">, alsoIn?: (tx: Tx) => Promise<void>): Promise<void>;
};

/**
 * Runs a replay until it has reached the served pipelines.
 * @throws the signal's reason when it aborts
 * @throws UndecodableFactError (stop), ReplayAheadError (stop), NoFormerTablesError (stop)
 * @throws UpgradeFillingError (wait)
 */
export const replay = async (replaying: Replaying): Promise<Replayed> => {
  const { pipelines, added, database, log, signal, place = REPLAY_SCHEMA } = replaying;
  await using opened = new AsyncDisposableStack();
  const session = replaying.session ?? opened.use(await database.session(replaySettings(place)));
  if (added === undefined) await assertFilled(session.sql, pipelines);
  if (place === BEFORE_SCHEMA) await assertFormer(session.sql, pipelines);
  else await requireFacts(session.sql, 0n);
  const runs = pipelines.map((pipeline) =>
    runOf(replaying, session, pipeline, (reached) => notes.reached(pipeline, reached)),
  );
  const next = new Map<Pipeline, bigint>();
  const each = async (work: (run: SecondRun, from: bigint) => Promise<bigint>) => {
    for (const run of runs) next.set(run.pipeline, await work(run, next.get(run.pipeline) ?? 0n));
    signal.throwIfAborted();
  };
  const froms =
    place === REPLAY_SCHEMA
      ? await beginRuns(session, pipelines, log)
      : await nextOf(session.sql, pipelines, log);
  const begun = new Map<Pipeline, Reached>();
  for (const [pipeline, from] of froms) {
    const reached = { next: from, of: await servedNext(session.sql, pipeline) };
    if (reached.next > reached.of) throw new ReplayAheadError(pipeline, reached);
    next.set(pipeline, reached.next);
    begun.set(pipeline, reached);
  }
  const reason = added === undefined ? "replay" : "upgrade";
  const notes = opened.use(await noteReplay(database, reason, begun));
  await each(approach);
  const names = tableNames(pipelines);
  const exchanged = added ?? names;
  if (place === REPLAY_SCHEMA) await indexTables(session.sql, exchanged);
  await each(approach);
  const held = opened.move();
  return {
    compare: async () => {
      await notes.enter("comparing");
      const compared = await session.transaction(async (tx) => {
        await beginSnapshot(tx, pipelines);
        return await comparedIn(tx, runs, next);
      });
      await noteComparison(database.sql, pipelines, compared);
      return compared;
    },
    swap: async (on, alsoIn) => {
      await each(approach);
      const onBlocked = replaying.onBlocked ?? (() => {});
      const made = await madeIn(session.sql, place, pipelines);
      const exchange = lockingBriefly({ on, names: exchanged, signal, onBlocked }, async (tx) => {
        const { sql } = tx;
        // The served pipelines wait here, and readers at the exchange, in this order.
        for (const { watermark } of pipelines) {
          await sql`lock table ${sql(`public.${getTableName(watermark)}`)} in share row exclusive mode`;
        }
        await each(async (run, from) => {
          const of = await servedNext(sql, run.pipeline);
          if (from > of) throw new ReplayAheadError(run.pipeline, { next: from, of });
          return runUpTo(withoutPause(run), from, of);
        });
        for (const { watermark } of pipelines) {
          const name = getTableName(watermark);
          // The served one may be past checkpoints without facts, after the last that the log gave.
          await sql`
            update ${sql(`${place}.${name}`)} as replayed
            set rebuilding_to = served.rebuilding_to, rebuilds = served.rebuilds + 1, next_checkpoint = served.next_checkpoint,
              last_checkpoint = served.last_checkpoint, last_digest = served.last_digest,
              last_timestamp_ms = served.last_timestamp_ms, committed_at = served.committed_at
            from ${sql(`public.${name}`)} as served`;
        }
        // Only the owner can; roles of an upgrade's tables follow with `migrate`.
        if (added === undefined) await grantAsServed(tx, place, exchanged);
        await (place === REPLAY_SCHEMA ? exchangeTables : exchangeFormer)(tx, exchanged);
        if (added !== undefined) {
          await dropTables(sql, BEFORE_SCHEMA, exchanged);
          await discardRun(sql, pipelines);
        }
        for (const each of pipelines) await noteHolds(sql, each);
        await noteState(sql, pipelines, "swapped");
        await alsoIn?.(tx);
      });
      await exchange.catch(async (error: unknown) => {
        const isLost = error instanceof SessionLostError;
        if (!isLost || !(await isExchanged(database, pipelines, made, signal))) throw error;
      });
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
};

/** The first watermark, as the database knows it, whatever schema it is in. */
const madeIn = async (
  sql: Sql,
  place: ReplayPlace | "public",
  [first]: readonly Pipeline[],
): Promise<number | null> => {
  const name = first === undefined ? "" : `${place}.${getTableName(first.watermark)}`;
  const [row] = await sql<{ table: number | null }[]>`select to_regclass(${name})::oid as table`;
  return row?.table ?? null;
};

/** How long an exchange whose connection was lost is looked for. */
const LOOK_FOR_MS = 60_000;

/** Whether these tables are served now: the connection may have been lost after the exchange was committed. */
const isExchanged = async (
  database: Database,
  pipelines: readonly Pipeline[],
  made: number | null,
  signal: AbortSignal,
): Promise<boolean> => {
  const look = () =>
    database.transaction(async (tx) => {
      // Waits for the end of the exchange, if its session is still there.
      await beginSnapshot(tx, pipelines);
      return (await madeIn(tx.sql, "public", pipelines)) === made;
    });
  const how = { ...databaseRetries, backoff: { firstMs: 100, maxMs: 1_000 }, forMs: LOOK_FOR_MS };
  return (await retrying(look, how, signal)) === true;
};

/** @throws UpgradeFillingError (wait) */
const assertFilled = async (sql: Sql, pipelines: readonly Pipeline[]): Promise<void> => {
  for (const { name, watermark, layout } of pipelines) {
    const [row] = await sql<{ layout: number }[]>`
      select layout from ${sql(`public.${getTableName(watermark)}`)}`;
    if (row !== undefined && row.layout < layout) throw new UpgradeFillingError(name);
  }
};

/** Where the former tables are. */
const nextOf = async (sql: Sql, pipelines: readonly Pipeline[], log: FactSource) => {
  const next = new Map<Pipeline, bigint>();
  const high = await log.highWater();
  for (const each of pipelines) {
    next.set(each, (await registerPipeline(sql, each, high)).nextCheckpoint);
  }
  return next;
};

const runOf = (
  { log, share, signal, bounds = BOUNDS, onProgress }: Replaying,
  session: Session,
  pipeline: Pipeline,
  note: (reached: Reached) => void,
): SecondRun => ({
  pipeline,
  session,
  log,
  ...bounds,
  signal,
  onBatch: async (next, tookMs) => {
    const reached = { next, of: await servedNext(session.sql, pipeline) };
    note(reached);
    onProgress({ pipeline: pipeline.name, ...reached });
    const pauseMs = Math.min(MOST_PAUSE_MS, tookMs * (1 / share - 1));
    // An abort ends the run before its next batch.
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
  },
});

/** While others wait. */
const withoutPause = (run: SecondRun): SecondRun => ({ ...run, onBatch: async () => {} });

/** Brings the replay to where the served pipelines are in this transaction's snapshot, and compares all rows. */
const comparedIn = async (
  tx: Tx,
  runs: readonly SecondRun[],
  next: Map<Pipeline, bigint>,
): Promise<Comparison> => {
  const checkpoints: Record<string, bigint | null> = {};
  const digests: Record<string, string | null> = {};
  const tables = new Set<PgTable>();
  for (const run of runs) {
    const { pipeline } = run;
    const end = await servedNext(tx.sql, pipeline);
    const from = next.get(pipeline) ?? 0n;
    next.set(pipeline, await runUpTo(withoutPause(run), from, end, within(tx)));
    checkpoints[pipeline.name] = end === 0n ? null : end - 1n;
    digests[pipeline.name] = await digestOf(tx, pipeline);
    for (const table of tablesOf(pipeline)) tables.add(table);
    for (const { table } of pipeline.sharedTables ?? []) tables.add(table);
  }
  await planAfresh(tx.sql);
  const differences: TableDifferences[] = [];
  const counts: Record<string, number> = {};
  let [rows, shown] = [0, 0];
  for (const table of tables) {
    const found = await tableDifferences(tx, table, SHOWN_ROWS - shown);
    shown += found.rows.length;
    if (found.count > 0) differences.push(found);
    const count = await countOf(tx, table);
    counts[getTableName(table)] = count;
    rows += count;
  }
  return { checkpoints, digests, rows, tables: counts, differences };
};

const digestOf = async ({ sql }: Tx, { name, watermark }: Pipeline): Promise<string | null> => {
  const [row] = await sql<{ digest: string | null }[]>`
    select encode(digest, 'hex') as digest
    from ${sql(`${REPLAY_SCHEMA}.${getTableName(watermark)}`)} where pipeline = ${name}`;
  return row?.digest ?? null;
};

const countOf = async ({ sql }: Tx, table: PgTable): Promise<number> => {
  const [row] = await sql<{ rows: number }[]>`
    select count(*)::int as rows from ${sql(`${REPLAY_SCHEMA}.${getTableName(table)}`)}`;
  return row?.rows ?? 0;
};

const tableDifferences = async (
  { sql }: Tx,
  table: PgTable,
  most: number,
): Promise<TableDifferences> => {
  const name = getTableName(table);
  const key = keyOf(table).map((column) => column.key);
  const rows: TableDifferences["rows"][number][] = [];
  let count = 0;
  for (let after: readonly string[] | null = null; ; ) {
    const upTo: readonly string[] | null = await pageEnd(sql, REPLAY_SCHEMA, table, after);
    const left = most - rows.length;
    // One at least, which carries the count.
    const found = await differencesIn(
      sql,
      REPLAY_SCHEMA,
      table,
      { after, upTo },
      Math.max(1, left),
    );
    count += found.count;
    rows.push(...found.first.slice(0, left).map((difference) => ({ ...difference, key })));
    if (upTo === null) return { table: name, count, rows };
    after = upTo;
  }
};
