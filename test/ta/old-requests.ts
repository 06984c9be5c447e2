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

/** `count` ended requests of `days` ago with a step each and a transaction of Sui, made by the database. */
export const fillEnded = async (
  sql: Sql,
  { count, days }: { readonly count: number; readonly days: number },
) => {
  await sql`
    insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, verified_status, status,
                             message, key_id, created_at, updated_at)
    select md5(n::text)::uuid, n % 1000, 'acme-sui', 'whitelist', 'inv-' || n % 1000, '0x' || md5(n::text),
           true, 'SUCCESS', 'whitelisted', 'key', at, at
    from generate_series(1, ${count}::int4) as n
    cross join lateral (
      select now() - make_interval(days => ${days}) + n * interval '1 ms' as at) as times`;
  await sql`
    insert into ta_request_history (request_id, number, at, status, message)
    select id, 1, updated_at, status, message from ta_requests`;
  await sql`
    insert into ta_transactions (request_id, tx_id, signed, group_id, resource)
    select id, id::text, '\x02', 1, 'sui:0x1' from ta_requests`;
};

/** Requests without steps, and rows without their request. */
export const halfRemovedRequests = async (sql: Sql) => {
  const rows = await sql<{ id: string }[]>`
    select r.id from ta_requests r
    where not exists (select from ta_request_history h where h.request_id = r.id)
       or not exists (select from ta_transactions t where t.request_id = r.id)
    union all
    select h.request_id from ta_request_history h
    where not exists (select from ta_requests r where r.id = h.request_id)`;
  return rows.map(({ id }) => id);
};
