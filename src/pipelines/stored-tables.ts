/** Tables of pipelines: how their rows are digested, and read as of an earlier checkpoint. */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { columnNames } from "../database/table-rows.ts";
import type { LineKind } from "../projections/digest-lines.ts";
import { STILL_OPEN } from "../projections/ranges.ts";

/** A table that a pipeline writes. */
export type StoredTable = {
  readonly table: PgTable;
  /** Kind of its digest lines; null when it has none. */
  readonly lines: LineKind | null;
  /** Whether a row is a state, which ends, or an event. */
  readonly isState: boolean;
  /** Checkpoints, in SQL, at which a row gives a line: its begin and, for a range, its end. */
  readonly at: readonly ("position / 1000000000" | "checkpoint" | "until")[];
  /**
   * Layout that added the table, or last changed its columns or rows. Older databases fill it from the log and serve
   * the former rows until then (`replay/fill-added.ts`).
   */
  readonly since: number;
  /** Query for the rows before checkpoint `BEFORE`; null if the pipeline never reads the table. */
  readonly before: string | null;
};

/** Session setting with the checkpoint of a `before` query. */
export const BEFORE_SETTING = "holderbook.before";
export const BEFORE = `current_setting('${BEFORE_SETTING}')::int8`;

type Since = { readonly since?: number };

/** Append-only rows, by `position`. */
export const events = (
  lines: LineKind,
  table: PgTable,
  { since = 1 }: Since = {},
): StoredTable => ({
  table,
  lines,
  isState: false,
  at: ["position / 1000000000"],
  since,
  before: null,
});

/** Append-only rows, by `checkpoint`. */
export const perCheckpoint = (
  lines: LineKind,
  table: PgTable,
  { since = 1 }: Since = {},
): StoredTable => ({ table, lines, isState: false, at: ["checkpoint"], since, before: null });

/** Ranges from `checkpoint` to `until`, open ones included. */
export const ranges = (lines: LineKind, table: PgTable, { since = 1 }: Since = {}): StoredTable => {
  const columns = columnNames(table).filter((name) => name !== "until");
  return {
    table,
    lines,
    isState: true,
    at: ["checkpoint", "until"],
    since,
    before: `
      select ${columns.join(", ")}, case when until >= ${BEFORE} then ${STILL_OPEN} else until end as until
      from public.${getTableName(table)} where checkpoint < ${BEFORE}`,
  };
};

/** Current states in one table; in another those that ended, with `until`. */
export const states = (
  lines: LineKind,
  live: PgTable,
  ended: PgTable,
  { endedSince }: { readonly endedSince: number },
): readonly StoredTable[] => [
  {
    table: live,
    lines,
    isState: true,
    at: ["checkpoint"],
    since: 1,
    before: statesBefore(columnNames(live), live, ended),
  },
  {
    table: ended,
    lines,
    isState: true,
    at: ["checkpoint", "until"],
    since: endedSince,
    before: null,
  },
];

/** Query for the rows of `states` before checkpoint `BEFORE`. */
export const statesBefore = (columns: readonly string[], live: PgTable, ended: PgTable): string => `
  select ${columns.join(", ")} from public.${getTableName(live)} where checkpoint < ${BEFORE}
  union all
  select ${columns.join(", ")} from public.${getTableName(ended)}
  where checkpoint < ${BEFORE} and until >= ${BEFORE}`;

/** A table without digest lines: its rows follow from those of others. */
export const derived = (
  table: PgTable,
  { since = 1, before = null }: Since & { readonly before?: string | null } = {},
): StoredTable => ({ table, lines: null, isState: false, at: [], since, before });
