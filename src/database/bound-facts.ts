/**
 * Prepares the table of facts to become the first partition (drizzle/0032_partitions.sql): a validated constraint on its
 * checkpoints is what spares Postgres a scan under an exclusive lock.
 */
import { type Blocker, LOCK_TIMEOUT_MS, lockingBriefly } from "./brief-locks.ts";
import type { Database, Sql } from "./connect.ts";

/** Advisory lock for migrating; an arbitrary constant. */
const MIGRATION_LOCK = 6_204_117_233_551n;

/** Until the end of a transaction of `lockingBriefly`: another migration may take as long as it needs. */
export const lockMigrations = async (sql: Sql): Promise<void> => {
  await sql`set local lock_timeout = 0`;
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  await sql.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
};

/**
 * Adds the constraint and validates it, the first under a short lock, the second beside appends and reads. The bound is
 * a month beyond the log's end at the least: a version before keeps appending meanwhile. Does nothing for another role
 * than the owner, without the table, and where it was done.
 */
export const boundFacts = async (
  database: Database,
  onBlocked: (blockers: readonly Blocker[]) => void,
): Promise<void> => {
  const names = ["log_facts"];
  const isBound = await lockingBriefly({ on: database, names, onBlocked }, async ({ sql }) => {
    await lockMigrations(sql);
    const [facts] = await sql<{ bound: boolean }[]>`
      select exists (
        select from pg_constraint where conrelid = c.oid and conname = 'log_facts_end') as bound
      from pg_class c
      where oid = to_regclass('public.log_facts') and relkind = 'r' and pg_has_role(relowner, 'USAGE')`;
    if (facts === undefined) return false;
    if (facts.bound) return true;
    const [{ end } = { end: 1n }] = await sql<{ end: bigint }[]>`
      select coalesce(greatest(
        (select next_checkpoint from log_high_water), (select max(checkpoint) from log_facts)
      ) / 10000000 + 2, 1) as end`;
    await sql.unsafe(
      `alter table public.log_facts
       add constraint log_facts_end check (checkpoint < ${end * 10_000_000n}) not valid`,
    );
    return true;
  });
  if (isBound) {
    await database.sql`alter table public.log_facts validate constraint log_facts_end`;
  }
};
