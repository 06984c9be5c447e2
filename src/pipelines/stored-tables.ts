/** The tables of pipelines, and what their rows are: how an auditor digests them and shows them as they were. */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { columnNames } from "../database/table-rows.ts";
import type { LineKind } from "../projections/digest-lines.ts";
import { STILL_OPEN } from "../projections/ranges.ts";

/** A table that a pipeline writes. */
export type StoredTable = {
  readonly table: PgTable;
  /** The kind of its lines in the digest; null when it has none. */
  readonly lines: LineKind | null;
  /** Whether a row is a state, which ends, or stands for a moment. */
  readonly isState: boolean;
  /** The checkpoints, in SQL, for which a row gives a line: where it begins, and where it ends. */
  readonly at: readonly ("position / 1000000000" | "checkpoint" | "until")[];
  /** The layout that added the table. Below the watermark's layout it is filled from the log (`refill.ts`). */
  readonly since: number;
  /** A query for the rows as they were before checkpoint `BEFORE`; null for a table that its pipeline never reads. */
  readonly before: string | null;
};

/** The setting of the session, in SQL, that a `before` query reads its checkpoint from. */
export const BEFORE_SETTING = "holderbook.before";
export const BEFORE = `current_setting('${BEFORE_SETTING}')::int8`;

type Since = { readonly since?: number };

/** Rows that were written once, by `position`. */
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

/** Rows that were written once, by `checkpoint`. */
export const perCheckpoint = (
  lines: LineKind,
  table: PgTable,
  { since = 1 }: Since = {},
): StoredTable => ({ table, lines, isState: false, at: ["checkpoint"], since, before: null });

/** Ranges from `checkpoint` to `until`; the open ones hold the present. */
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

/** States of the present in one table, and in another those that ended, with `until`. */
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

/** The states of `states` as they were before a checkpoint. */
export const statesBefore = (columns: readonly string[], live: PgTable, ended: PgTable): string => `
  select ${columns.join(", ")} from public.${getTableName(live)} where checkpoint < ${BEFORE}
  union all
  select ${columns.join(", ")} from public.${getTableName(ended)}
  where checkpoint < ${BEFORE} and until >= ${BEFORE}`;

/** A table without lines in the digest: its rows follow from those of others. */
export const derived = (
  table: PgTable,
  { since = 1, before = null }: Since & { readonly before?: string | null } = {},
): StoredTable => ({ table, lines: null, isState: false, at: [], since, before });
