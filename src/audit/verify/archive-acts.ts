/**
 * Holds `log_archived` against the operators' acts: `archive detach` and `archive attach` write both in one transaction.
 * The acts are signed, so facts that are taken out by hand, with a row that fits the chain, leave a trace or a fault.
 */
import type { Sql } from "../../database/connect.ts";

type Row = {
  readonly number: bigint;
  readonly event: string;
  readonly first: bigint;
  readonly before: bigint;
  readonly facts: bigint;
  readonly root: string;
};

/** An act and its details, as texts: they may have been altered. */
type ArchiveAct = {
  readonly number: bigint;
  readonly isDetach: boolean;
  readonly before: string | null;
  readonly facts: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly root: string | null;
};

/**
 * The first act without its rows, or row without an act; null if there is none.
 * @param sql of one snapshot; the acts are known to be JSON
 */
export const archiveActFault = async (sql: Sql): Promise<string | null> => {
  let rest: readonly Row[] = await sql<Row[]>`
    select number, event, first_checkpoint as first, before_checkpoint as before, facts, root
    from log_archived order by number`;
  const acts = await sql<ArchiveAct[]>`
    select number, command = 'archive detach' as "isDetach", details::jsonb ->> 'before' as before,
           details::jsonb ->> 'facts' as facts, details::jsonb ->> 'from' as from, details::jsonb ->> 'to' as to,
           details::jsonb ->> 'root' as root
    from operator_acts where command in ('archive detach', 'archive attach') order by number`;
  for (const act of acts) {
    // A detach has a row for each partition.
    const end = act.isDetach ? rest.findIndex(({ before }) => `${before}` === act.before) : 0;
    const own = rest.slice(0, end + 1);
    if (!isOf(act, own)) {
      const command = act.isDetach ? "archive detach" : "archive attach";
      return `log_archived does not have the rows of act ${act.number} in operator_acts (${command}): they were deleted, changed or added`;
    }
    rest = rest.slice(end + 1);
  }
  const [row] = rest;
  return row === undefined
    ? null
    : `row ${row.number} of log_archived says that checkpoints ${row.first} to ${row.before - 1n} were ${row.event}, but no act in operator_acts does: it was added, or the act deleted`;
};

const isOf = (act: ArchiveAct, rows: readonly Row[]): boolean => {
  const [row] = rows;
  if (row === undefined) return false;
  if (!act.isDetach) {
    return (
      row.event === "attached" && `${row.first}` === act.from && `${row.before - 1n}` === act.to
    );
  }
  const facts = rows.reduce((sum, each) => sum + each.facts, 0n);
  const isSame = rows.every(({ event, root }) => event === "archived" && root === act.root);
  return isSame && `${facts}` === act.facts;
};
