/**
 * What a page of deliveries may show. Messages are listed by the time at which they were enqueued, and
 * transactions commit in another order: paging by that time would miss a message that becomes visible
 * behind the last page. So a list ends before the first moment from which something may still come.
 *
 * A transaction that enqueues says so first, by an advisory lock that names the second; it ends with
 * the transaction, once its messages are visible. Others, however long, hold no list back.
 */
import type { Sql } from "../database/connect.ts";

/** Class of these locks. */
const ENQUEUING = 7_143;

/** Seconds are counted from here, which four bytes hold until 2068. */
const EPOCH = "2000-01-01T00:00:00Z";

/** Run before messages are written, in the same transaction: they are enqueued at a later time. */
export const markUnderWay = (sql: Sql) => sql`
  select pg_advisory_xact_lock_shared(
    ${ENQUEUING}::int4,
    floor(extract(epoch from clock_timestamp() - ${EPOCH}::timestamptz))::int4)`;

/**
 * A time before which nothing will be enqueued any more. Whatever was is visible to the statements that
 * come after this one.
 */
export const completeBefore = async (sql: Sql): Promise<string> => {
  // The statement's own time is earlier than the look at the locks: who takes one later writes later.
  const [row] = await sql<{ complete: string }[]>`
    select least(statement_timestamp(), (
      select ${EPOCH}::timestamptz + make_interval(secs => min(objid::int8))
      from pg_locks
      where locktype = 'advisory' and classid = ${ENQUEUING} and objsubid = 2
        and database = (select oid from pg_database where datname = current_database())
    ))::text as complete`;
  if (row === undefined) throw new Error("a statement that returns one row returned none");
  return row.complete;
};
