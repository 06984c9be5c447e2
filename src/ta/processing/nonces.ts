import type { Sql } from "../../database/connect.ts";

/**
 * The lowest nonce that a new transaction of a purse may have: one above those of our own that are
 * executed or under way, final or not; 0 when there are none. A node that lags has not heard of all of
 * them, and one that a reorganisation took back is submitted again and needs its own.
 */
export const lowestNonce = async (sql: Sql, purse: string): Promise<number> => {
  const [newest] = await sql<{ nonce: bigint }[]>`
    select t.nonce from ta_transactions t join ta_requests r on r.id = t.request_id
    where t.purse = ${purse} and t.nonce is not null
      -- Never executed: its nonce is free, or was spent by somebody whom every node has heard of.
      and not (r.status = 'FAILED' and r.reason = 'BROADCAST_SUBMIT_ERROR')
    order by t.nonce desc limit 1`;
  return newest === undefined ? 0 : Number(newest.nonce) + 1;
};
