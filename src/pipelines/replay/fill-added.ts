/**
 * Fills tables that an upgrade added or whose rows it changed, by a replay beside the served ones, which are empty or
 * have the former rows; once it has caught up, only these tables are exchanged. Pipelines that share a changed table
 * are filled together. Their watermarks show the progress.
 */
import { getTableName } from "drizzle-orm";
import type { Database, Transactor } from "../../database/connect.ts";
import { acquireWriterLock } from "../../database/writer-lock.ts";
import type { FactSource } from "../../log/log.ts";
import { ledgerPipelines } from "../ledger-pipelines.ts";
import type { Pipeline } from "../pipeline.ts";
import { registerPipeline } from "../register.ts";
import { BOUNDS, type Replaying, replay } from "./replay.ts";
import { groupOf, replaySettings, tableNames } from "./tables.ts";

export type Filling = {
  readonly pipeline: Pipeline;
  /** Those that this process runs, perhaps without others of the group. */
  readonly pipelines: readonly Pipeline[];
  readonly database: Database;
  /**
   * The session that holds the pipeline's lock. Tables are exchanged on it, so that none are after another process
   * has taken the pipeline over.
   */
  readonly held: Transactor;
  readonly log: FactSource;
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Runs work while the pipeline has no batch in hand, which the exchange would make fail. */
  readonly betweenBatches: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called after every batch with the next checkpoint to be filled in. */
  readonly onProgress: (next: bigint) => void;
  readonly onBlocked?: Replaying["onBlocked"];
};

/** Names of a pipeline's own tables that were added or changed since a layout, watermark and digests included. */
export const addedSince = (
  { tables, watermark, digests }: Pipeline,
  layout: number,
): readonly string[] =>
  [
    watermark,
    ...tables.filter(({ since }) => since > layout).map(({ table }) => table),
    digests,
  ].map(getTableName);

/**
 * Fills the new tables of a pipeline whose lock this process holds, and of those that it shares tables with, until they
 * are complete or `signal` aborts. Can be restarted at any time.
 */
export const fillAdded = async (filling: Filling): Promise<void> => {
  const { pipeline, pipelines, database, held, log, signal, betweenBatches, onProgress } = filling;
  const known = new Map([...ledgerPipelines, ...pipelines].map((one) => [one.name, one]));
  const group = groupOf(pipeline, [...known.values()]);
  // Every pipeline of the group comes here, in any process: the first one fills for all.
  const name = `fill ${group.map((one) => one.name).join(", ")}`;
  await using lock = await acquireWriterLock(database, name, { ...replaySettings(), signal });
  const layouts = new Map<Pipeline, number>();
  for (const each of group) {
    layouts.set(each, (await registerPipeline(database.sql, each, await log.highWater())).layout);
  }
  const isBehind = (one: Pipeline) => (layouts.get(one) ?? one.layout) < one.layout;
  if (!isBehind(pipeline)) return;
  const oldest = Math.min(...layouts.values());
  const shared = group
    .flatMap(({ sharedTables = [] }) => sharedTables)
    .filter(({ since }) => since > oldest);
  const filled = shared.length > 0 ? group : group.filter(isBehind);
  const added = new Set([
    ...filled.flatMap((one) => addedSince(one, layouts.get(one) ?? one.layout)),
    ...shared.map(({ table }) => getTableName(table)),
  ]);
  await using replayed = await replay({
    ...{ pipelines: filled, database, session: lock.session, log, share: 1, signal },
    added: tableNames(filled).filter((each) => added.has(each)),
    bounds: {
      maxFacts: Math.min(filling.maxFacts, BOUNDS.maxFacts),
      maxBytes: filling.maxBytes,
    },
    onBlocked: filling.onBlocked,
    onProgress: (reached) => {
      if (reached.pipeline === pipeline.name) onProgress(reached.next);
    },
  });
  await replayed.swap({ transaction: (work) => betweenBatches(() => held.transaction(work)) });
};
