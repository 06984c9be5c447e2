/**
 * How far a page of deliveries may go. Messages are listed by the time of enqueueing, but transactions commit
 * in another order: paging by that time would miss a message that becomes visible behind the last page. So
 * a list ends before the earliest time from which a message may still appear.
 *
 * A transaction that enqueues first takes an advisory lock that contains the second. The lock ends with the
 * transaction, when its messages are visible. Other transactions, however long, hold no list back.
 */
import type { Sql } from "../database/connect.ts";

/** Class of these locks. */
const ENQUEUING = 7_143;

/** Seconds are counted from here, which four bytes hold until 2068. */
const EPOCH = "2000-01-01T00:00:00Z";

/** Runs in the same transaction before messages are written, so that their time is later. */
export const markUnderWay = (sql: Sql) => sql`
  select pg_advisory_xact_lock_shared(
    ${ENQUEUING}::int4,
    floor(extract(epoch from clock_timestamp() - ${EPOCH}::timestamptz))::int4)`;

/** A time before which nothing more will appear; what was enqueued before is visible to later statements. */
export const completeBefore = async (sql: Sql): Promise<string> => {
  // The statement's time is earlier than its look at the locks: a later lock means later messages.
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
