/**
 * Facts that were archived: their partition is detached, and files outside the database have them
 * (docs/how-to/archive-facts.md).
 *
 * A statement that reads facts begins its condition with `public.log_has(FROM)`, which refuses when facts from there on are
 * archived. Postgres evaluates it once, before the first row, in the snapshot and under the lock that the statement reads
 * with: no statement reads a part of what it asked for.
 */
import type { Sql } from "../database/connect.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** `ERRCODE` of `log_has` (drizzle/0033_archived.sql). */
const ARCHIVED = "HB003";

/**
 * The facts are archived. Nothing was changed. Stop: bring them back with `holderbook archive attach`, then give the
 * command again.
 */
export class FactsArchivedError extends Error {
  override readonly name = "FactsArchivedError";
  readonly remedy: Remedy = "stop";
}

/** True for what `log_has` raises. */
export const isArchived = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === ARCHIVED;

/**
 * For what would change something before it reads facts.
 * @throws FactsArchivedError (stop) when facts from here on are archived
 */
export const requireFacts = async (sql: Sql, from: bigint): Promise<void> => {
  try {
    await sql`select public.log_has(${from})`;
  } catch (error) {
    throw isArchived(error) ? new FactsArchivedError(error.message) : error;
  }
};
