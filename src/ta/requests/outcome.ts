import { wasDelivered } from "../../callbacks/deliveries.ts";
import type { Sql } from "../../database/connect.ts";
import type { Fragment } from "../../lanes/lanes.ts";
import { resultMessageId } from "./callback-address.ts";

/** `Outcome` of the request `r`; null while it is open. */
export const outcomeOf = (sql: Sql): Fragment => sql`
  case
    when r.status in ('QUEUED', 'PENDING') then null
    when r.status = 'SUCCESS' then 'done'
    when r.reason = 'ALREADY_WHITELISTED' then 'already_done'
    when r.reason <> 'CALLBACK_DELIVERY_FAILED' then 'failed'
    when ${wasDelivered(sql, sql`${resultMessageId("")} || r.id`)} then 'done'
    else 'done_undelivered'
  end`;
