/** What the slow check of the log found and how far it is: kept, so that every process can tell. */
import type { Sql, Transactor } from "../database/connect.ts";
import type { LogFault } from "../log/chain.ts";
import { type Checked, checkStretch } from "../log/check-chain.ts";
import { headFault } from "./log-heads.ts";

/** What a look found: nothing yet, a whole round without a fault, or a fault. */
type Outcome = "none" | "whole" | LogFault;

/** Keeps how far the round is; a fault that is known keeps the time when it was found. */
const keep = async (sql: Sql, next: bigint, through: bigint, outcome: Outcome): Promise<void> => {
  if (outcome === "none") {
    await sql`
      insert into log_check (next_checkpoint) values (${next})
      on conflict (id) do update set next_checkpoint = excluded.next_checkpoint`;
  } else if (outcome === "whole") {
    await sql`
      insert into log_check (next_checkpoint, completed_at, completed_through)
      values (${next}, now(), ${through})
      on conflict (id) do update
      set next_checkpoint = excluded.next_checkpoint, completed_at = excluded.completed_at,
          completed_through = excluded.completed_through,
          fault = null, fault_checkpoint = null, found_at = null`;
  } else {
    const { checkpoint, what } = outcome;
    await sql`
      insert into log_check as known (next_checkpoint, fault, fault_checkpoint, found_at)
      values (${next}, ${what}, ${checkpoint}, now())
      on conflict (id) do update
      set next_checkpoint = excluded.next_checkpoint,
          fault = excluded.fault, fault_checkpoint = excluded.fault_checkpoint,
          found_at = case when known.fault = excluded.fault then known.found_at else now() end`;
  }
};

/** Signatures of heads that a round of the slow check verifies, from the newest. */
const HEADS = 10;

/**
 * Looks at the next stretch, and at the signed heads when that ends a round. The next look begins a new
 * round then, or after a fault, which stands until a whole round finds none.
 */
export const checkNext = (on: Transactor): Promise<Checked> =>
  on.transaction(async ({ sql }) => {
    // Of one log: it may be exchanged meanwhile.
    await sql`set transaction isolation level repeatable read`;
    return checkNextIn(sql);
  });

const checkNextIn = async (sql: Sql): Promise<Checked> => {
  const [row] = await sql<{ next: bigint }[]>`select next_checkpoint as next from log_check`;
  const checked = await checkStretch(sql, (row?.next ?? 0n) - 1n);
  const { through } = checked;
  const fault = checked.fault ?? (checked.ended ? await headFault(sql, HEADS) : null);
  const ended = checked.ended || fault !== null;
  // Before anything was read there is nothing to be told.
  if (ended && fault === null && through < 0n) return checked;
  await keep(sql, ended ? 0n : through + 1n, through, fault ?? (ended ? "whole" : "none"));
  return { ...checked, fault, ended };
};
