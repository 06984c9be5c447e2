/** Removes ended requests with their steps and transactions, oldest first. Investors' data stay. */
import {
  isPruned,
  isStored,
  marking,
  nextOf,
  type PrunedStretch,
  type Stretch,
  within,
} from "../../callbacks/pruning.ts";
import type { Sql } from "../../database/connect.ts";
import { isoMicros } from "../../database/iso-time.ts";
import { resultMessageId } from "./callback-address.ts";

export const REQUEST_REMOVED =
  "this request has ended and has been removed: its retention time is over";

/** Whether retention removed a request, whoever made it: only its caller knows the id. */
export const wasRequestPruned = async (
  { sql }: { readonly sql: Sql },
  requestId: string,
): Promise<boolean> => {
  const [row] = await sql<{ pruned: boolean }[]>`
    select ${isPruned(sql, sql`${resultMessageId(requestId)}::text`)}
           and not exists (select from ta_requests where id = ${requestId}) as pruned`;
  return row?.pruned ?? false;
};

/**
 * One statement: a request goes with all of its rows, or not at all. Stays: what has not ended, whose
 * callback is stored, that holds a gas coin, nonce or wallet, or whose nonce a node may still lack:
 * the transactions below an unmined one are submitted again.
 */
export const pruneRequests = async (
  { sql }: { readonly sql: Sql },
  stretch: Stretch,
): Promise<PrunedStretch<"ta_requests" | "ta_request_history" | "ta_transactions">> => {
  const before = sql`${stretch.before.toISOString()}::timestamptz`;
  const resultId = sql`${resultMessageId("")} || r.id`;
  const [row] = await sql<
    {
      requests: number;
      steps: number;
      transactions: number;
      seen: number;
      at: string | null;
      sequence: bigint;
    }[]
  >`
    with looked_at as materialized (
      select id, created_at, sequence,
             status in ('SUCCESS', 'FAILED') and updated_at < ${before} as is_old
      from ta_requests where ${within(sql, stretch)}
      order by created_at, sequence limit ${stretch.limit}
    ), old as materialized (
      select r.id from ta_requests r
      -- Arrays: an index, whatever the planner expects.
      where r.id = any(array(select id from looked_at where is_old))
        and r.status in ('SUCCESS', 'FAILED') and r.updated_at < ${before}
        and not ${isStored(sql, resultId)}
        and not exists (select from ta_reservations p where p.request_id = r.id)
        and not exists (select from ta_wallet_claims w where w.request_id = r.id)
        and not exists (
          select from ta_transactions t
          where t.request_id = r.id and t.nonce is not null and not exists (
            -- A later nonce was used in a final block, and so were all below it.
            select from ta_transactions later join ta_requests done on done.id = later.request_id
            where later.resource = t.resource and later.nonce > t.nonce and later.refusal is null
              and (done.status = 'SUCCESS' or done.reason = 'CALLBACK_DELIVERY_FAILED')))
      for update of r skip locked
    ), transactions as (
      delete from ta_transactions where request_id = any(array(select id from old)) returning 1
    ), steps as (
      delete from ta_request_history where request_id = any(array(select id from old)) returning 1
    ), requests as (
      delete from ta_requests where id = any(array(select id from old)) returning 1
    ), marked as (${marking(sql, sql`select ${resultId} as id from old as r`)})
    select (select count(*)::int4 from requests) as requests,
           (select count(*)::int4 from steps) as steps,
           (select count(*)::int4 from transactions) as transactions,
           (select count(*)::int4 from looked_at) as seen, last.at, last.sequence
    from (select) as one left join (
      select ${isoMicros(sql, "created_at")} as at, sequence from looked_at
      order by created_at desc, sequence desc limit 1) as last on true`;
  return {
    removed: {
      ta_requests: row?.requests ?? 0,
      ta_request_history: row?.steps ?? 0,
      ta_transactions: row?.transactions ?? 0,
    },
    next: nextOf(row, stretch),
  };
};
