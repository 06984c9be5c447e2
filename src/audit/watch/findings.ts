/** What the watch found, as kept by the process that watches: one statement. */
import type { Sql } from "../../database/connect.ts";

/** Checkpoints are decimal; null where nothing was done yet. */
export type Findings = {
  readonly log: {
    /**
     * Last checkpoint that a verified signature of the validators covers; null where none is verified. What
     * was read without signatures before it stays without proof.
     */
    readonly provenThrough: string | null;
    /** Last checkpoint with facts that the hash chain covers, and the last whose head was signed. */
    readonly chainedThrough: string | null;
    readonly signedThrough: string | null;
    /** Where the last round that found no fault ended, and how long ago. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** What does not hold; null while everything does. */
    readonly fault: string | null;
  };
  readonly sums: {
    /** The checkpoint that was last added up, and how long ago. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** What does not add up; empty while everything does. */
    readonly findings: readonly string[];
  };
  /** Every row held against the facts of the log, by itself. */
  readonly rows: {
    /** The checkpoint up to which the last round looked, and how long ago it ended; null before the first. */
    readonly checkedThrough: string | null;
    readonly checkedSecondsAgo: number | null;
    /** What does not fit, by the last round and the one under way; empty while everything does. */
    readonly findings: readonly string[];
  };
  /** Roots that are published without being asked for, once a day. */
  readonly roots: {
    /** The last day (UTC, ISO 8601) whose tokens were all looked at, its last checkpoint, and how long ago. */
    readonly day: string | null;
    readonly through: string | null;
    readonly madeSecondsAgo: number | null;
    /** Tokens without a root at their last close, and why; the first ten, empty while every one has it. */
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

/** What the watch found last. */
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
