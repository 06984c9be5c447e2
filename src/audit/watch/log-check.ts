/** Progress and result of the slow check of the log, stored for every process. */
import type { Sql } from "../../database/connect.ts";
import { chainEnd, type LogFault } from "../../log/chain.ts";
import { edgeFaults } from "../../log/check-blocks.ts";
import { checkStretch } from "../../log/check-chain.ts";
import { headFault } from "../sequence/log-heads.ts";
import { logSince } from "../sequence/sequence.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";
import { checkAllBlocks, checkPackages, logRange } from "../verify/blocks-and-packages.ts";
import { checkGuided } from "../verify/check-guided.ts";
import { checkProofs } from "../verify/check-proofs.ts";
import { checkEntries } from "../verify/entry-check.ts";
import { checkSequence } from "../verify/sequence-check.ts";
import type { SlowCheck } from "./watch.ts";

/** Result of a stretch: nothing yet, a full round without a fault, or a fault. */
type Outcome = "none" | "whole" | LogFault;

/** Stores the round's progress; a known fault keeps its first time. */
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

/** Notes that a command checked the whole log, without a fault: the service need not wait for its next round. */
export const noteWhole = (sql: Sql, through: bigint): Promise<void> =>
  keep(sql, 0n, through, "whole");

/** Newest head signatures verified per round. */
const HEADS = 10;

/** Checks what the fact chain does not cover: blocks, proofs, packages, signed statements. */
async function* beyondFacts(on: Reading): Stretches {
  yield* checkAllBlocks(on, 1);
  yield await edgeFaults(on.sql);
  yield* checkPackages(on);
  // Read with the committees: a later committee's proof lies beyond this end.
  const range = await logRange(on.sql);
  yield* checkProofs(on, { asked: false, trusted: null, ...range });
  yield* checkGuided(on, range);
  yield* checkSequence(on);
  yield* checkEntries(on, await logSince(on.sql), new AbortController().signal);
}

/** Second part of a round, after the facts. */
type Beyond = {
  /** Identifies the log, which may be replaced. */
  readonly log: bigint;
  /** Last checkpoint whose facts were checked. */
  readonly through: bigint;
  readonly reading: { sql: Sql };
  readonly stretches: Stretches;
};

const logOf = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql<{ log: bigint }[]>`select 'log_facts'::regclass::oid::int8 as log`;
  return row?.log ?? -1n;
};

/**
 * Checks the log a stretch at a time: facts and signed heads, then everything else. The stretch
 * after a round or a fault begins a new round; a fault stays until a full round finds none.
 */
export const logCheck = (): SlowCheck => {
  let beyond: Beyond | null = null;
  return {
    next: async (on) => {
      const before = beyond;
      // A generator that throws has ended; restart it.
      beyond = null;
      const checked = await on.transaction(async ({ sql }) => {
        // One snapshot: the log may be replaced meanwhile.
        await sql`set transaction isolation level repeatable read`;
        // First: see `extendChain`.
        await chainEnd(sql);
        const log = await logOf(sql);
        if (before === null) return checkFacts(sql, log);
        if (before.log === log) return checkBeyond(sql, before);
        await keep(sql, 0n, before.through, "none");
        return { ended: false, beyond: null };
      });
      ({ beyond } = checked);
      return { ended: checked.ended };
    },
  };
};

type Checked = { readonly ended: boolean; readonly beyond: Beyond | null };

const checkBeyond = async (sql: Sql, beyond: Beyond): Promise<Checked> => {
  beyond.reading.sql = sql;
  const step = await beyond.stretches.next();
  const [fault] = step.done ? [] : step.value;
  if (fault === undefined && !step.done) return { ended: false, beyond };
  await keep(sql, 0n, beyond.through, fault ?? "whole");
  return { ended: true, beyond: null };
};

/** Checks the next stretch of facts, and after the last one the signed heads. */
const checkFacts = async (sql: Sql, log: bigint): Promise<Checked> => {
  const [row] = await sql<{ next: bigint }[]>`select next_checkpoint as next from log_check`;
  const { through, ...checked } = await checkStretch(sql, (row?.next ?? 0n) - 1n);
  const fault = checked.fault ?? (checked.ended ? await headFault(sql, HEADS) : null);
  // Nothing was read yet.
  if (checked.ended && fault === null && through < 0n) return { ended: true, beyond: null };
  await keep(sql, fault === null ? through + 1n : 0n, through, fault ?? "none");
  if (fault !== null || !checked.ended) return { ended: fault !== null, beyond: null };
  const reading = { sql };
  return { ended: false, beyond: { log, through, reading, stretches: beyondFacts(reading) } };
};
