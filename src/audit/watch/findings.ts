/** The watch's stored findings, read in one statement. */
import type { Sql } from "../../database/connect.ts";

/** Checkpoints are decimal; null before the first result. */
export type Findings = {
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

type Row = {
  readonly proven: bigint | null;
  readonly chained: bigint | null;
  readonly signed: bigint | null;
  readonly checked: bigint | null;
  readonly checkedAgo: number | null;
  readonly fault: string | null;
  readonly faultCheckpoint: bigint | null;
  readonly summed: bigint | null;
  readonly summedAgo: number | null;
  readonly findings: readonly string[] | null;
  readonly rowsChecked: bigint | null;
  readonly rowsCheckedAgo: number | null;
  readonly rowsFindings: readonly string[] | null;
  readonly day: string | null;
  readonly closed: bigint | null;
  readonly closedAgo: number | null;
  readonly unsigned: readonly string[] | null;
};

const FINDINGS = `
  select (select last_checkpoint from log_proofs order by first_checkpoint desc limit 1) as proven,
         (select max(checkpoint) from log_chain) as chained,
         (select max(checkpoint) from log_heads) as signed,
         c.completed_through as checked,
         extract(epoch from now() - c.completed_at)::int as "checkedAgo",
         c.fault, c.fault_checkpoint as "faultCheckpoint",
         r.checkpoint as summed, extract(epoch from now() - r.at)::int as "summedAgo", r.findings,
         w.checkpoint as "rowsChecked", extract(epoch from now() - w.at)::int as "rowsCheckedAgo",
         coalesce(u.findings, w.findings) as "rowsFindings",
         d.day::text as day, d.checkpoint as closed,
         extract(epoch from now() - d.ended_at)::int as "closedAgo",
         (select json_agg(fault order by coin_type) from (
            select coin_type, fault from daily_roots where fault is not null
            order by coin_type limit 10) f) as unsigned
  from (select) as one
  left join log_check c on true
  left join reconciliations r on r.kind = 'continuous'
  left join reconciliations w on w.kind = 'full'
  left join reconciliations u on u.kind = 'full_under_way'
  left join daily_round d on true`;

export const readFindings = async ({ sql }: { readonly sql: Sql }): Promise<Findings> => {
  const [row] = await sql.unsafe<Row[]>(FINDINGS, [], { prepare: true });
  const text = (checkpoint: bigint | null | undefined) => checkpoint?.toString() ?? null;
  const fault = row?.fault ?? null;
  return {
    log: {
      provenThrough: text(row?.proven),
      chainedThrough: text(row?.chained),
      signedThrough: text(row?.signed),
      checkedThrough: text(row?.checked),
      checkedSecondsAgo: row?.checkedAgo ?? null,
      fault: fault === null ? null : `checkpoint ${row?.faultCheckpoint}: ${fault}`,
    },
    sums: {
      checkedThrough: text(row?.summed),
      checkedSecondsAgo: row?.summedAgo ?? null,
      findings: row?.findings ?? [],
    },
    rows: {
      checkedThrough: text(row?.rowsChecked),
      checkedSecondsAgo: row?.rowsCheckedAgo ?? null,
      findings: row?.rowsFindings ?? [],
    },
    roots: {
      day: row?.day ?? null,
      through: text(row?.closed),
      madeSecondsAgo: row?.closedAgo ?? null,
      faults: row?.unsigned ?? [],
    },
  };
};
