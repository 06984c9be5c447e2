/** What is archived of the facts, and whether it is what the log had. */
import type { Sql } from "../database/connect.ts";
import { chainEnd, type LogFault } from "./chain.ts";

export type ArchivedPartition = {
  readonly first: bigint;
  /** The first checkpoint after it. */
  readonly before: bigint;
  readonly facts: bigint;
  /** Of the chain of facts at its end. */
  readonly hash: Buffer;
  /** Of the archive that has it. */
  readonly root: string;
};

/** Those that are archived now, ascending. */
export const archivedPartitions = (sql: Sql) => sql<ArchivedPartition[]>`
  select first, before, facts, hash, root from (
    select distinct on (first_checkpoint) first_checkpoint as first, before_checkpoint as before, facts, hash, root, event
    from log_archived order by first_checkpoint, number desc) as newest
  where event = 'archived' order by first`;

/** The first checkpoint whose facts are here; null when none are archived. */
export const archivedBefore = async (sql: Sql): Promise<bigint | null> => {
  const [row] = await sql<
    { before: bigint | null }[]
  >`select public.log_archived_before() as before`;
  return row?.before ?? null;
};

/** Number of facts of the log in [first, before). */
export const factsIn = async (sql: Sql, first: bigint, before: bigint): Promise<bigint> => {
  const [row] = await sql<{ facts: bigint }[]>`
    select coalesce(sum(total), 0)::int8 as facts from (
      (select facts_total as total from log_checkpoints where checkpoint < ${before} order by checkpoint desc limit 1)
      union all
      (select -facts_total from log_checkpoints where checkpoint < ${first} order by checkpoint desc limit 1)
    ) as totals`;
  return row?.facts ?? 0n;
};

/** Checks what is said of archived facts against the chain and the facts that are there; null when it fits. */
export const archivedFault = async (sql: Sql): Promise<LogFault | null> => {
  // From the log's start: what begins later would hide everything between from the checks. A log that begins late, or
  // was not read for long, has no partition where it has no facts.
  let end = 0n;
  for (const { first, before, facts, hash } of await archivedPartitions(sql)) {
    const fault = (what: string) => ({ checkpoint: before - 1n, what });
    if (first < end || (await factsIn(sql, end, first)) !== 0n) {
      return fault(`log_archived leaves out ${end} to ${first - 1n}: a row was deleted or added`);
    }
    end = before;
    const [there] = await sql`select from log_facts where checkpoint < ${before} limit 1`;
    if (there !== undefined) {
      return fault(
        `log_archived says that ${first} to ${before - 1n} are archived, but log_facts has facts of them`,
      );
    }
    if (!hash.equals((await chainEnd(sql, before - 1n)).hash)) {
      return fault(
        `the hash that log_archived has of ${first} to ${before - 1n} is not the one in log_chain: one of the two was altered`,
      );
    }
    const chained = await factsIn(sql, first, before);
    if (chained !== facts) {
      return fault(
        `log_archived counts ${facts} facts of ${first} to ${before - 1n}, but log_checkpoints ${chained}`,
      );
    }
  }
  return null;
};
