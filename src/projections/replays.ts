/** Replays of projections (`replays`): how far each is, and what its last comparison found. */
import { integer, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { at, int8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";

/**
 * Why rows are made again: on command, or to fill tables that an upgrade added. `source`: the ledger is read again, to
 * compare the log with it.
 */
export type ReplayReason = "replay" | "upgrade" | "source";

/**
 * - `running`: it applies the log, and then makes the indexes
 * - `comparing`: its rows are compared with the served ones
 * - `compared`: they were; its rows wait for an exchange
 * - `swapped`: its rows are served
 * - `dropped`: its rows were removed
 * - `stopped`: it ended early, and resumes where it was
 */
export type ReplayState = "running" | "comparing" | "compared" | "swapped" | "dropped" | "stopped";

/** Column texts of a row by declared names. */
export type Values = Readonly<Record<string, string | null>>;

/** A row that is not the same on both sides; null where there is no such row. */
export type Difference = { readonly stored: Values | null; readonly made: Values | null };

/** Differing rows of one table. */
export type TableDifferences = {
  readonly table: string;
  readonly count: number;
  /** The first hundred of all tables, with the columns of the key. */
  readonly rows: readonly (Difference & { readonly key: readonly string[] })[];
};

/** One row per pipeline that was ever replayed, and `log` for `source`, about the last time. Times are by the database's clock. */
export const replaysTable = pgTable("replays", {
  pipeline: text("pipeline").primaryKey(),
  reason: text("reason").notNull().$type<ReplayReason>(),
  state: text("state").notNull().$type<ReplayState>(),
  /** Time and last applied checkpoint before the first batch of this run, for the rate. */
  begunAt: at("begun_at").notNull(),
  begunCheckpoint: int8("begun_checkpoint").notNull(),
  /** Last applied checkpoint; at first the one before the log begins. */
  checkpoint: int8("checkpoint").notNull(),
  /** Last checkpoint of the served pipeline. */
  target: int8("target").notNull(),
  /** Written every second while it runs. */
  updatedAt: at("updated_at").notNull(),
  /** The last comparison: when, at which checkpoint, rows of the replay; null before the first. */
  comparedAt: at("compared_at"),
  comparedCheckpoint: int8("compared_checkpoint"),
  rows: integer("rows"),
  differences: jsonb("differences").$type<readonly TableDifferences[]>(),
});

/** Without a report for so long a replay counts as stopped. */
const SILENT = "interval '15 seconds'";

/** SQL: whether a row's replay works now. */
export const IS_RUNNING = `(state in ('running', 'comparing') and updated_at > clock_timestamp() - ${SILENT})`;

/** SQL: checkpoints a second, null before the first ones. */
const RATE =
  "((checkpoint - begun_checkpoint) / nullif(extract(epoch from updated_at - begun_at), 0))::float8";

/** Progress of a replay. */
export type Rebuilding = {
  readonly checkpoint: bigint;
  readonly target: bigint;
  readonly ratePerSecond: number;
};

/** SQL of a text: progress of a replay, see `rebuildingIn`. */
export const REBUILDING = `concat_ws(' ', checkpoint, target, coalesce(${RATE}, 0))`;

/** @param text as `REBUILDING` gives it */
export const rebuildingIn = (text: string | null): Rebuilding | null => {
  if (text === null) return null;
  const [checkpoint = "", target = "", rate] = text.split(" ");
  return {
    checkpoint: BigInt(checkpoint),
    target: BigInt(target),
    ratePerSecond: Number(rate),
  };
};

/** Whole seconds until it is at its target; null while its rate is 0. */
export const secondsLeft = ({ checkpoint, target, ratePerSecond }: Rebuilding): number | null => {
  if (checkpoint >= target) return 0;
  return ratePerSecond > 0 ? Math.ceil(Number(target - checkpoint) / ratePerSecond) : null;
};

/** Rows of a replay beside the served ones, at one checkpoint. */
export type StoredComparison = {
  readonly atSeconds: bigint;
  /** Null before the first. */
  readonly checkpoint: bigint | null;
  readonly rows: number;
  readonly differences: readonly TableDifferences[];
};

export type ReplayStatus = Rebuilding & {
  readonly pipeline: string;
  readonly reason: ReplayReason;
  readonly state: ReplayState;
  /** Unix seconds. */
  readonly begunAtSeconds: bigint;
  readonly updatedAtSeconds: bigint;
  /** The last comparison; null before the first. */
  readonly comparison: StoredComparison | null;
};

type Row = Omit<ReplayStatus, "comparison"> & {
  readonly comparedAtSeconds: bigint | null;
  readonly comparedCheckpoint: bigint | null;
  readonly rows: number | null;
  readonly differences: string | null;
};

const seconds = (column: string) => `extract(epoch from ${column})::int8`;

const REPLAYS = `
  select pipeline, reason, checkpoint, target, coalesce(${RATE}, 0) as "ratePerSecond",
    case when state in ('running', 'comparing') and not ${IS_RUNNING} then 'stopped' else state end as state,
    ${seconds("begun_at")} as "begunAtSeconds", ${seconds("updated_at")} as "updatedAtSeconds",
    ${seconds("compared_at")} as "comparedAtSeconds", compared_checkpoint as "comparedCheckpoint",
    rows, differences::text as differences
  from replays order by pipeline`;

/** All replays, by the names of their pipelines. */
export const readReplays = async (on: Reads): Promise<readonly ReplayStatus[]> =>
  (await read<Row>(on, REPLAYS, [])).map(
    ({ comparedAtSeconds, comparedCheckpoint, rows, differences, ...replay }) => ({
      ...replay,
      comparison:
        comparedAtSeconds === null
          ? null
          : {
              atSeconds: comparedAtSeconds,
              checkpoint: comparedCheckpoint,
              rows: rows ?? 0,
              differences: JSON.parse(differences ?? "[]"),
            },
    }),
  );
