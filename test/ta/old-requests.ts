/** Requests with the times of long ago, for tests of retention. */
import type { Sql } from "../../src/database/connect.ts";

/** Accepted and ended `days` ago. */
export const endLongAgo = async (sql: Sql, ids: readonly string[], days: number) => {
  const then = sql`now() - make_interval(days => ${days})`;
  await sql`update ta_requests set created_at = ${then}, updated_at = ${then} where id in ${sql(ids)}`;
};

/** A request as if it had this state. */
export const setStatus = async (
  sql: Sql,
  id: string,
  status: string,
  reason: string | null = null,
) => {
  await sql`update ta_requests set status = ${status}, reason = ${reason} where id = ${id}`;
};

/** A request's transaction with a nonce of the signer, or of Sui without one. */
export const storeTransaction = async (sql: Sql, id: string, nonce: number | null) => {
  await sql`
    insert into ta_transactions (request_id, tx_id, signed, group_id, resource, nonce)
    values (${id}, ${`tx-${id}`}, '\x02', 1, 'evm:43113:0xabc', ${nonce})`;
};

/** What is stored of requests: their ids, and how many rows of each other table. */
export const storedRequests = async (sql: Sql) => {
  const requests = await sql<{ id: string }[]>`select id from ta_requests order by sequence`;
  const [counts] = await sql<{ steps: number; transactions: number; data: number }[]>`
    select (select count(*)::int4 from ta_request_history) as steps,
           (select count(*)::int4 from ta_transactions) as transactions,
           (select count(*)::int4 from ta_pii_records) as data`;
  return { requests: requests.map(({ id }) => id), ...counts };
};
