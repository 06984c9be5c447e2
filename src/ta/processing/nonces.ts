import type { Sql } from "../../database/connect.ts";
import type { SignedBefore } from "../ledgers/evm-gap.ts";

/**
 * The lowest nonce that a new transaction of a sender may have: one above the nonces of the sender's own
 * transactions that are executed or under way, final or not; 0 when there are none. A lagging node does
 * not know all of them, and one that a reorganisation took back keeps its nonce (`signedBefore`).
 *
 * @param resource the sender's nonces, by their name (`Resource`)
 */
export const lowestNonce = async (sql: Sql, resource: string): Promise<number> => {
  const [newest] = await sql<{ nonce: bigint }[]>`
    select nonce from ta_transactions
    where resource = ${resource} and nonce is not null
      -- A refused one is never submitted again: its nonce is free, or every node knows that it is spent.
      and refusal is null
    order by nonce desc limit 1`;
  return newest === undefined ? 0 : Number(newest.nonce) + 1;
};

/**
 * The transactions signed with a sender's nonces from `from` up to below `below`: the first `limit`, one
 * for each nonce. Offers open and successful transactions again, also when the callback about a success was
 * given up; replaces refused and failed ones. A refused one must never be submitted again, and a failed one
 * must not succeed after its caller was told that it failed.
 */
export const signedBefore = async (
  sql: Sql,
  resource: string,
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
    where t.resource = ${resource} and t.nonce >= ${from} and t.nonce < ${below}
    -- A nonce whose first transaction was refused may have got a second one.
    order by t.nonce, undone limit ${limit}`;
  return rows.map(({ nonce, signed, undone, ...about }) => ({
    nonce: Number(nonce),
    signed,
    replaced: undone ? about : null,
  }));
};
