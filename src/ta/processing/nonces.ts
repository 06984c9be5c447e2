import type { Sql } from "../../database/connect.ts";
import type { SignedBefore } from "../ledgers/evm-gap.ts";

/**
 * The lowest nonce that a new transaction of a purse may have: one above those of our own that are
 * executed or under way, final or not; 0 when there are none. A node that lags has not heard of all of
 * them, and one that a reorganisation took back is submitted again and needs its own (`signedBefore`).
 */
export const lowestNonce = async (sql: Sql, purse: string): Promise<number> => {
  const [newest] = await sql<{ nonce: bigint }[]>`
    select nonce from ta_transactions
    where purse = ${purse} and nonce is not null
      -- Submitted by nobody any more: its nonce is free, or was spent where every node has heard of it.
      and refusal is null
    order by nonce desc limit 1`;
  return newest === undefined ? 0 : Number(newest.nonce) + 1;
};

/**
 * What was signed with a purse's nonces from `from` up to below `below`, the first `limit` of them, one
 * of each nonce. To be offered again is what somebody was told to be done, also when the callback about it
 * was given up, and what is under way. All others are to be replaced: of what was refused it is relied on
 * that nobody submits it, and of what failed nobody would hear if it succeeded afterwards.
 */
export const signedBefore = async (
  sql: Sql,
  purse: string,
  { from, below, limit }: { readonly from: number; readonly below: number; readonly limit: number },
): Promise<readonly SignedBefore[]> => {
  const rows = await sql<
    { nonce: bigint; signed: Uint8Array; undone: boolean; asset: string; requestId: string }[]
  >`
    select distinct on (t.nonce) t.nonce, t.signed, r.asset, r.id as "requestId",
           not case r.status when 'SUCCESS' then true
                             when 'FAILED' then r.reason = 'CALLBACK_DELIVERY_FAILED'
                             else t.refusal is null end as undone
    from ta_transactions t join ta_requests r on r.id = t.request_id
    where t.purse = ${purse} and t.nonce >= ${from} and t.nonce < ${below}
    -- A nonce whose first transaction was refused may have got a second one.
    order by t.nonce, undone limit ${limit}`;
  return rows.map(({ nonce, signed, undone, ...about }) => ({
    nonce: Number(nonce),
    signed,
    replaced: undone ? about : null,
  }));
};
