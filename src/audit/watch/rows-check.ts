/**
 * Continuous full reconciliation: compares every row with the log's facts, a batch of facts or a
 * page of rows at a time. The replayed tables outlive the process; no snapshot lasts longer than a
 * page.
 */

import type { Database, Session, Sql } from "../../database/connect.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { LAYOUT_WITH_DIGESTS } from "../../projections/progress-tables.ts";
import { createFindings, type Findings, keepFindings } from "../reconcile/findings.ts";
import {
  dropFolded,
  type FoldedSchema,
  foldedSettings,
  foldOn,
  prepareFolding,
  servedBy,
} from "../reconcile/folded-log.ts";
import { isOfFacts } from "../reconcile/reconcile.ts";
import { ROWS_BEGIN, type RowsPlace, reconcilePage } from "../reconcile/rows.ts";
import { reconcileWatermark } from "../reconcile/watermarks.ts";
import type { SlowCheck } from "./watch.ts";

const PLACE: FoldedSchema = "holderbook_folded";

/** A tenth of a core. */
const RESTS = 9;

type Round = {
  readonly found: Findings;
  /** Null while facts are replayed. */
  place: RowsPlace | null;
  /** Every page's rows were complete below this; null before the first page. */
  next: bigint | null;
};

/**
 * Checks every row. Progress is stored with the replayed tables, so that another process can
 * resume.
 * @param everySeconds target time between ends of rounds: one begins after half of it
 */
export const rowsCheck = (everySeconds: number): SlowCheck => ({
  rests: RESTS,
  next: async (on) => {
    const { isDue, isArchived } = await standing(on, everySeconds);
    // A round that was under way cannot go on, and its tables may be as large as the register's.
    if (isArchived) await on.transaction(({ sql }) => dropFolded(sql));
    if (!isDue) return { ended: true };
    await using session = await on.session(foldedSettings(PLACE));
    await prepareFolding(session, PLACE);
    const round = await takeUp(session.sql, everySeconds);
    const known = round.found.lines.length;
    const came = await step(session, round);
    // Retried with the next round of the other checks.
    if (came === "wait") return { ended: true };
    await session.transaction(async ({ sql }) => {
      if (came === "ended") await end(sql, round);
      else {
        if (round.found.lines.length > known) await showAtOnce(sql, round);
        if (round.place !== null) await keep(sql, round);
      }
    });
    return { ended: came === "ended" };
  },
});

type Standing = { readonly isDue: boolean; readonly isArchived: boolean };

/**
 * A round is not due if the last one is recent enough, nothing is indexed, or facts are archived, without which nothing
 * can be replayed. One that found something is repeated at once: a repair shows soon.
 */
const standing = async ({ sql }: Database, everySeconds: number): Promise<Standing> => {
  const [row] = await sql<Standing[]>`
    select coalesce((select next_checkpoint > first_checkpoint from log_high_water), false)
           and archived is null
           and coalesce(r.at < now() - make_interval(secs => ${everySeconds / 2}::float8)
                           or r.findings <> '[]'::jsonb, true) as "isDue",
           archived is not null as "isArchived"
    from public.log_archived_before() as archived left join reconciliations r on r.kind = 'full'`;
  return row ?? { isDue: false, isArchived: false };
};

/** The current round, or a new one if there is none or its pages are too old. */
const takeUp = async (sql: Sql, everySeconds: number): Promise<Round> => {
  await sql`
    create unlogged table if not exists holderbook_folded.round (
      id smallint primary key default 1, began timestamptz not null default now(),
      place jsonb not null, next int8, found jsonb not null)`;
  await sql`
    delete from holderbook_folded.round where began < now() - make_interval(secs => ${everySeconds}::float8)`;
  const [kept] = await sql<
    { place: RowsPlace; next: bigint | null; found: Pick<Findings, "lines" | "more"> }[]
  >`select place, next, found from holderbook_folded.round`;
  return {
    place: kept?.place ?? null,
    next: kept?.next ?? null,
    found: createFindings(kept?.found),
  };
};

const keep = async (sql: Sql, { place, next, found: { lines, more } }: Round): Promise<void> => {
  await sql`
    insert into holderbook_folded.round (place, next, found)
    values (${JSON.stringify(place)}::text::jsonb, ${next}, ${JSON.stringify({ lines, more })}::text::jsonb)
    on conflict (id) do update set place = excluded.place, next = excluded.next, found = excluded.found`;
};

const throughOf = ({ next }: Round): bigint => (next ?? 0n) - 1n;

/** Shows findings beside the previous round's, which stays the last complete one. */
const showAtOnce = async (sql: Sql, round: Round): Promise<void> => {
  const shown = await sql<{ findings: readonly string[] }[]>`
    select findings from reconciliations where kind in ('full', 'full_under_way')`;
  const lines = [...round.found.lines, ...shown.flatMap(({ findings }) => findings)];
  await keepFindings(sql, "full_under_way", throughOf(round), [...new Set(lines)].slice(0, 100));
};

const end = async (sql: Sql, round: Round): Promise<void> => {
  await dropFolded(sql);
  await keepFindings(sql, "full", throughOf(round), round.found.lines);
  await sql`delete from reconciliations where kind = 'full_under_way'`;
};

/** `wait`: tables are being rebuilt or filled by an upgrade, so a round would miss them. */
const step = async (session: Session, round: Round): Promise<"more" | "ended" | "wait"> => {
  try {
    if (round.place === null) {
      for (const pipeline of ledgerPipelines) {
        const served = await servedBy(session.sql, pipeline);
        const isFilling = served.next !== null && served.layout < LAYOUT_WITH_DIGESTS;
        if (served.isRebuilding || isFilling) return "wait";
        const folded = await foldOn(session, pipeline, served);
        if (folded === "stale") await dropFolded(session.sql);
        if (folded !== "ended") return "more";
      }
      round.place = ROWS_BEGIN;
      await session.transaction(async (tx) => {
        await beginSnapshot(tx);
        for (const pipeline of ledgerPipelines) await reconcileWatermark(tx, pipeline, round.found);
      });
      return "more";
    }
    const compared = await reconcilePage(session, PLACE, round.place, round.found);
    if (compared.state === "stale") {
      await dropFolded(session.sql);
      round.place = null;
      return "more";
    }
    if (compared.filling !== null) return "wait";
    round.place = compared.place;
    if (round.next === null || compared.next < round.next) round.next = compared.next;
    return compared.state;
  } catch (error) {
    if (!isOfFacts(error)) throw error;
    round.found.add(`log_facts: ${error.message}`);
    return "ended";
  }
};
