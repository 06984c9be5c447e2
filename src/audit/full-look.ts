/**
 * The full reconciliation by itself: every row held against the log's facts, a batch of facts or a page of rows
 * at a time. What was folded so far outlives the process; no snapshot is held longer than a page takes.
 */
import type { Database, Session } from "../database/connect.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { LAYOUT_WITH_DIGESTS } from "../projections/digests.ts";
import {
  dropFolded,
  foldedSettings,
  foldOn,
  type Place,
  prepareFolding,
  servedBy,
} from "./folded-log.ts";
import { createFound, type Found, keepFound } from "./found.ts";
import { isOfFacts } from "./reconcile.ts";
import { ROWS_BEGIN, type RowsPlace, reconcilePage } from "./reconcile-rows.ts";
import { reconcileWatermark } from "./reconcile-watermarks.ts";
import type { SlowLook } from "./watch.ts";

const PLACE: Place = "holderbook_folded";

/** A tenth of a core. */
const RESTS = 9;

type Round = {
  readonly found: Found;
  /** Found in the last round, and told until this one has ended. */
  readonly before: readonly string[];
  /** Where it is; null while facts are folded. */
  place: RowsPlace | null;
  /** Every page's rows were complete below; null before the first page. */
  next: bigint | null;
};

/**
 * Watches every row.
 * @param everySeconds a round is to end so long after the one before: it begins after half of that
 */
export const fullLook = (everySeconds: number): SlowLook => {
  let round: Round | null = null;
  return {
    rests: RESTS,
    next: async (on) => {
      round ??= await beginRound(on, everySeconds);
      if (round === null) return { ended: true };
      await using session = await on.session(foldedSettings(PLACE));
      const known = round.found.lines.length;
      const came = await step(session, round);
      const { found, before, next } = round;
      // Asked again with the next round of the others.
      if (came === "wait") return { ended: true };
      const ended = came === "ended";
      if (ended) {
        await dropFolded(session.sql);
        await keepFound(on.sql, "full", (next ?? 0n) - 1n, found.lines);
        round = null;
      } else if (found.lines.length > known) {
        // The round before stays the last that ended.
        await on.sql`
          update reconciliations
          set findings = ${JSON.stringify([...new Set([...found.lines, ...before])].slice(0, 100))}::text::jsonb
          where kind = 'full'`;
      }
      return { ended };
    },
  };
};

/** Null while the last one is young enough, and while nothing is indexed. */
const beginRound = async (on: Database, everySeconds: number): Promise<Round | null> => {
  const [row] = await on.sql<{ due: boolean; findings: readonly string[] | null }[]>`
    select (select next_checkpoint > first_checkpoint from log_high_water)
           and coalesce(r.at < now() - make_interval(secs => ${everySeconds / 2}::float8), true) as due, r.findings
    from (select) as one left join reconciliations r on r.kind = 'full'`;
  if (!row?.due) return null;
  return { found: createFound(), before: row.findings ?? [], place: null, next: null };
};

/** `wait`: tables are being rebuilt, or filled in by an upgrade; a round that left them out would show nothing of them. */
const step = async (session: Session, round: Round): Promise<"more" | "ended" | "wait"> => {
  await prepareFolding(session, PLACE);
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
        await tx.sql`set transaction isolation level repeatable read`;
        for (const pipeline of ledgerPipelines) await reconcileWatermark(tx, pipeline, round.found);
      });
      return "more";
    }
    const looked = await reconcilePage(session, PLACE, round.place, round.found);
    if (looked.state === "stale") {
      await dropFolded(session.sql);
      round.place = null;
      return "more";
    }
    if (looked.filling !== null) return "wait";
    round.place = looked.place;
    if (round.next === null || looked.next < round.next) round.next = looked.next;
    return looked.state;
  } catch (error) {
    if (!isOfFacts(error)) throw error;
    round.found.add(`log_facts: ${error.message}`);
    return "ended";
  }
};
