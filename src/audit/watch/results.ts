/** The watch's stored results, read in one statement. */
import type { Sql } from "../../database/connect.ts";

/** Checkpoints are decimal; null before the first result. */
export type WatchResults = {
  readonly log: {
    /**
     * Last checkpoint covered by a verified validator signature; null if none. Earlier ones read
     * without signatures stay unproven.
     */
    readonly provenThrough: string | null;
    /** Last checkpoint with facts in the hash chain, and the last with a signed head. */
    readonly chainedThrough: string | null;
    readonly signedThrough: string | null;
    /** End and age of the last round without a fault. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** Current fault; null if none. */
    readonly fault: string | null;
  };
  readonly sums: {
    /** Last checkpoint added up, and its age. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** Discrepancies; empty if none. */
    readonly findings: readonly string[];
  };
  /** Comparison of every row with the log's facts. */
  readonly rows: {
    /** Last checkpoint of the last round, and its age; null before the first. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** Discrepancies of the last round and the current one; empty if none. */
    readonly findings: readonly string[];
  };
  /** Daily published roots. */
  readonly roots: {
    /** Last complete day (UTC, ISO 8601), its last checkpoint, and its age. */
    readonly day: string | null;
    readonly through: string | null;
    readonly madeSecondsAgo: number | null;
    /** Tokens without a root at their last close, and why; the first ten. */
    readonly faults: readonly string[];
  };
};

const age = (column: string) => `extract(epoch from now() - ${column})::int`;

const RESULTS = `
  select json_build_object(
           'provenThrough', (select last_checkpoint from log_proofs order by first_checkpoint desc limit 1)::text,
           'chainedThrough', (select max(checkpoint) from log_chain)::text,
           'signedThrough', (select max(checkpoint) from log_heads)::text,
           'checkedThrough', c.completed_through::text, 'checkedSecondsAgo', ${age("c.completed_at")},
           'fault', case when c.fault is not null then
             concat('checkpoint ', c.fault_checkpoint, ': ', c.fault) end) as log,
         json_build_object(
           'checkedThrough', s.checkpoint::text, 'checkedSecondsAgo', ${age("s.at")},
           'findings', coalesce(s.findings, '[]')) as sums,
         json_build_object(
           'checkedThrough', w.checkpoint::text, 'checkedSecondsAgo', ${age("w.at")},
           'findings', coalesce(u.findings, w.findings, '[]')) as rows,
         json_build_object(
           'day', d.day, 'through', d.checkpoint::text, 'madeSecondsAgo', ${age("d.ended_at")},
           'faults', array(select fault from daily_roots where fault is not null
                           order by coin_type limit 10)) as roots
  from (select) as one
  left join log_check c on true
  left join reconciliations s on s.kind = 'continuous'
  left join reconciliations w on w.kind = 'full'
  left join reconciliations u on u.kind = 'full_under_way'
  left join daily_round d on true`;

export const readWatchResults = async ({ sql }: { readonly sql: Sql }): Promise<WatchResults> => {
  const [results] = await sql.unsafe<WatchResults[]>(RESULTS, [], { prepare: true });
  if (results === undefined) throw new Error("a select without a condition gave no row");
  return results;
};
