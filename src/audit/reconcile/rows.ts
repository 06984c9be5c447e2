/**
 * Compares every row of the pipelines' tables with the rows that the log's facts give, in both
 * directions: missing and surplus. One page per snapshot.
 */

import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Session, Sql } from "../../database/connect.ts";
import { within } from "../../database/session.ts";
import { logCoins } from "../../log/tables.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../../pipelines/pipeline.ts";
import {
  type Column,
  differencesIn,
  keyOf,
  pageEnd,
  valuesIn,
} from "../../pipelines/replay/compare.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { planAfresh } from "../../projections/plans.ts";
import { LAYOUT_WITH_DIGESTS } from "../../projections/progress-tables.ts";
import type { Values } from "../../projections/replays.ts";
import { type Findings, FOUND_ROWS } from "./findings.ts";
import {
  coinsPipeline,
  type Folded,
  type FoldedSchema,
  foldCoinsFrom,
  foldOn,
  servedBy,
  sharedTables,
} from "./folded-log.ts";

/** A table, and the pipelines that its rows depend on. */
type Compared = { readonly table: PgTable; readonly of: readonly Pipeline[] };

/** In the order of comparison. */
export const comparedTables: readonly Compared[] = [
  ...ledgerPipelines.flatMap((pipeline) =>
    tablesOf(pipeline).map((table) => ({ table, of: [pipeline] })),
  ),
  ...sharedTables.map((table) => ({
    table,
    of: ledgerPipelines.filter(
      (pipeline) => pipeline.sharedTables?.some((shared) => shared.table === table) ?? false,
    ),
  })),
  { table: logCoins, of: [coinsPipeline] },
];

/** Cursor of a round: a table's index, and the last key of the previous page. */
export type RowsPlace = { readonly table: number; readonly after: readonly string[] | null };

export const ROWS_BEGIN: RowsPlace = { table: 0, after: null };

type ComparedPage =
  | { readonly state: "stale" }
  | {
      readonly state: "more" | "ended";
      readonly place: RowsPlace;
      /** The page's pipelines had committed every checkpoint below. */
      readonly next: bigint;
      /** The table that was skipped because an upgrade is filling it; null otherwise. */
      readonly filling: string | null;
    };

/**
 * Compares the next page, after bringing the replayed tables up to its snapshot.
 * @param session of `foldedSettings`
 */
export const reconcilePage = (
  session: Session,
  place: FoldedSchema,
  { table: index, after }: RowsPlace,
  found: Findings,
): Promise<ComparedPage> =>
  session.transaction(async (tx) => {
    await beginSnapshot(tx);
    const compared = comparedTables[index];
    if (compared === undefined) {
      return { state: "ended", place: { table: index, after }, next: 0n, filling: null };
    }
    const { table, of } = compared;
    let next = 0n;
    for (const pipeline of of) {
      const served = await servedBy(tx.sql, pipeline);
      // Before the pipeline's first run the table must be empty.
      if (served.next !== null && served.layout < LAYOUT_WITH_DIGESTS) {
        return { ...forward(index), next: 0n, filling: getTableName(table) };
      }
      let folded: Folded = "more";
      while (folded === "more") folded = await foldOn(within(tx), pipeline, served);
      if (folded === "stale" || served.isRebuilding) return { state: "stale" };
      next = served.next ?? 0n;
    }
    await planAfresh(tx.sql);
    if (table === logCoins) {
      await foldCoinsFrom(tx, next);
      await reconcileCoins(tx.sql, place, found);
      return { ...forward(index), next, filling: null };
    }
    const upTo = await pageEnd(tx.sql, place, table, after);
    const differences = await differencesIn(tx.sql, place, table, { after, upTo }, FOUND_ROWS);
    for (const { stored, made } of differences.first) {
      found.add(finding(getTableName(table), keyOf(table), stored, made));
    }
    return upTo === null
      ? { ...forward(index), next, filling: null }
      : { state: "more", place: { table: index, after: upTo }, next, filling: null };
  });

const forward = (index: number) => ({
  state: index + 1 < comparedTables.length ? ("more" as const) : ("ended" as const),
  place: { table: index + 1, after: null },
});

/** Positions per checkpoint: see `positionOf`. */
const POSITIONS = 1_000_000_000n;

/** Names the row like other findings: checkpoint first, then the rest of its key. */
const placeOf = (key: readonly Column[], row: Values): string => {
  const { position, checkpoint } = row;
  const at =
    checkpoint ??
    (position === null || position === undefined ? null : `${BigInt(position) / POSITIONS}`);
  return [
    ...(at === null || at === undefined ? [] : [`checkpoint ${at}`]),
    ...key.flatMap(({ key: of }) => (of === "checkpoint" ? [] : [`${of} ${row[of]}`])),
  ].join(", ");
};

const finding = (
  name: string,
  key: readonly Column[],
  stored: Values | null,
  made: Values | null,
): string => {
  const where = `${name}, ${placeOf(key, made ?? stored ?? {})}`;
  if (stored === null) return `${where}: the row is missing; the log gives ${JSON.stringify(made)}`;
  if (made === null) {
    return `${where}: the row is stored, but the log gives none: ${JSON.stringify(stored)}`;
  }
  const differences = Object.keys(made)
    .filter((column) => stored[column] !== made[column])
    .map((column) => `${column} is ${stored[column]}, the log gives ${made[column]}`);
  return `${where}: ${differences.join("; ")}`;
};

/**
 * Compares the log's coins. Their decimals may come from the network or the assets file instead of
 * metadata in the log.
 */
const reconcileCoins = async (sql: Sql, place: FoldedSchema, found: Findings): Promise<void> => {
  const rows = await sql.unsafe<{ stored: string | null; made: string | null }[]>(
    `select ${coinValues("stored")} as stored, ${coinValues("made")} as made
     from public.log_coins stored full join ${place}.log_coins made using (coin_type)
     where stored.coin_type is null
        or stored.folded is distinct from lower(coin_type)
        or stored.is_security is distinct from coalesce(made.is_security, false)
        or (made.decimals is not null or stored.decimals_source is not distinct from 'ledger')
           and (stored.decimals is distinct from made.decimals
             or stored.decimals_source is distinct from made.decimals_source)
        or (stored.decimals is null) <> (stored.decimals_source is null)
        or made.coin_type is null and stored.decimals is null
     order by coin_type limit ${FOUND_ROWS}`,
  );
  const key = keyOf(logCoins);
  for (const { stored, made } of rows) {
    found.add(finding(getTableName(logCoins), key, valuesIn(stored), valuesIn(made)));
  }
};

const coinValues = (of: string): string =>
  `case when ${of}.coin_type is not null then json_build_object('coinType', ${of}.coin_type,
     'folded', ${of}.folded, 'isSecurity', ${of}.is_security::text,
     'decimals', ${of}.decimals::text, 'decimalsSource', ${of}.decimals_source)::text end`;
