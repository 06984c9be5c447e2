/** Keeps the progress of replays in the database (`replays`), once a second while they run. */
import { getTableName } from "drizzle-orm";
import type { Database, Sql } from "../../database/connect.ts";
import {
  type ReplayReason,
  type ReplayState,
  replaysTable,
  type TableDifferences,
} from "../../projections/replays.ts";
import { pause } from "../../waiting/backoff.ts";
import { type Pipeline, tablesOf } from "../pipeline.ts";

/** Next checkpoint of a replay and of the served pipeline. */
export type Reached = { readonly next: bigint; readonly of: bigint };

/** A pipeline, or `LOG_READ`. */
type Noted = Pick<Pipeline, "name"> & Partial<Pick<Pipeline, "watermark" | "layout">>;

/** The ledger, read again to compare the log with it. */
export const LOG_READ: Noted = { name: "log" };

export type ReplayNotes = AsyncDisposable & {
  /** Written within a second. */
  reached(noted: Noted, reached: Reached): void;
  /** Writes what was reached, and the state. */
  enter(state: ReplayState): Promise<void>;
};

const REPORT_MS = 1_000;

/** Qualified: replays run with a search path of their own. */
const REPLAYS = `public.${getTableName(replaysTable)}`;

/** Begins to note the progress of these pipelines' replay, until it is disposed of. */
export const noteReplay = async (
  { sql }: Pick<Database, "sql">,
  reason: ReplayReason,
  begun: ReadonlyMap<Noted, Reached>,
): Promise<ReplayNotes> => {
  const newest = new Map(begun);
  // The exchange ends it: the exchanged watermark has the newer layout.
  const noteFilling = async ({ name, watermark, layout }: Noted, next: bigint) => {
    if (reason !== "upgrade" || watermark === undefined || layout === undefined) return;
    await sql`
      update ${sql(`public.${getTableName(watermark)}`)} set filled_checkpoint = ${next - 1n}
      where pipeline = ${name} and layout < ${layout}`;
  };
  const ended = new AbortController();
  for (const [pipeline, { next, of }] of begun) {
    const { name } = pipeline;
    const checkpoint = next - 1n;
    await noteFilling(pipeline, next);
    await sql`
      insert into ${sql(REPLAYS)} (pipeline, reason, state, begun_at, begun_checkpoint, checkpoint, target, updated_at)
      values (${name}, ${reason}, 'running', clock_timestamp(), ${checkpoint}, ${checkpoint}, ${of - 1n}, clock_timestamp())
      on conflict (pipeline) do update set reason = excluded.reason, state = excluded.state,
        begun_at = excluded.begun_at, begun_checkpoint = excluded.begun_checkpoint,
        checkpoint = excluded.checkpoint, target = excluded.target, updated_at = excluded.updated_at`;
  }
  const write = async (state?: ReplayState) => {
    for (const [pipeline, { next, of }] of newest) {
      await noteFilling(pipeline, next);
      // Until its first batch it waits, which must not count for the rate.
      await sql`
        update ${sql(REPLAYS)} set checkpoint = ${next - 1n}, target = ${of - 1n},
          state = coalesce(${state ?? null}, state), updated_at = clock_timestamp(),
          begun_at = case when checkpoint = begun_checkpoint then updated_at else begun_at end
        where pipeline = ${pipeline.name} and state in ('running', 'comparing')`;
    }
  };
  const writing = (async () => {
    for (;;) {
      await pause(REPORT_MS, ended.signal);
      if (ended.signal.aborted) return;
      // The next one repeats it.
      await write().catch(() => undefined);
    }
  })();
  return {
    reached: (noted, reached) => void newest.set(noted, reached),
    enter: write,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await writing;
      // Without the database it counts as stopped soon.
      await write("stopped").catch(() => undefined);
    },
  };
};

/** Notes a state that a replay's rows got, whatever it was before. */
export const noteState = async (
  sql: Sql,
  pipelines: readonly Pipeline[],
  state: ReplayState,
): Promise<void> => {
  for (const { name } of pipelines) {
    await sql`
      update ${sql(REPLAYS)} set state = ${state}, updated_at = clock_timestamp() where pipeline = ${name}`;
  }
};

/** Notes that the tables of these pipelines' replays were removed: of those that are not served. */
export const noteDropped = async (sql: Sql, pipelines: readonly Pipeline[]): Promise<void> => {
  for (const { name } of pipelines) {
    await sql`
      update ${sql(REPLAYS)} set state = 'dropped', updated_at = clock_timestamp()
      where pipeline = ${name} and state <> 'swapped'`;
  }
};

/** Bytes of the rows that are kept of a pipeline's comparison. */
const MAX_BYTES = 256 * 1024;

/** Keeps all counts, and the first rows up to `MAX_BYTES`. */
const bounded = (differences: readonly TableDifferences[]): readonly TableDifferences[] => {
  let left = MAX_BYTES;
  return differences.map(({ rows, ...table }) => ({
    ...table,
    rows: rows.filter((row) => {
      left -= Buffer.byteLength(JSON.stringify(row));
      return left >= 0;
    }),
  }));
};

/** Notes a comparison; a table that several pipelines write counts for the first of them. */
export const noteComparison = async (
  sql: Sql,
  pipelines: readonly Pipeline[],
  compared: {
    readonly checkpoints: Readonly<Record<string, bigint | null>>;
    readonly tables: Readonly<Record<string, number>>;
    readonly differences: readonly TableDifferences[];
  },
): Promise<void> => {
  const counted = new Set<string>();
  for (const pipeline of pipelines) {
    const { name, sharedTables = [] } = pipeline;
    const own = [...tablesOf(pipeline), ...sharedTables.map(({ table }) => table)]
      .map(getTableName)
      .filter((table) => !counted.has(table));
    for (const table of own) counted.add(table);
    const rows = own.reduce((sum, table) => sum + (compared.tables[table] ?? 0), 0);
    const differences = bounded(compared.differences.filter(({ table }) => own.includes(table)));
    const at = compared.checkpoints[name] ?? null;
    await sql`
      update ${sql(REPLAYS)} set state = 'compared', updated_at = clock_timestamp(),
        compared_at = clock_timestamp(), compared_checkpoint = ${at},
        checkpoint = coalesce(${at}, checkpoint), target = coalesce(${at}, target),
        rows = ${rows}, differences = ${JSON.stringify(differences)}::text::jsonb
      where pipeline = ${name}`;
  }
};
