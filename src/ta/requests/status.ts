/** The status of a request, for its caller. */
import { texts } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
import { isoTime } from "../../database/iso-time.ts";
import { isPaused } from "../../pauses/pauses.ts";
import type { Outcome } from "./failure-reasons.ts";
import { outcomeOf } from "./outcome.ts";

/** Body of `GET /api/v1/requests/{requestId}`; times are ISO 8601. */
export type RequestStatus = {
  readonly requestId: string;
  readonly status: string;
  readonly message: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  readonly outcome: Outcome | null;
  readonly txId: string | null;
  /** Its asset is paused and it is not begun; absent otherwise. */
  readonly paused?: true | undefined;
  /** Oldest first. */
  readonly history: readonly {
    readonly status: string;
    readonly at: string;
    readonly message: string;
  }[];
};

/** A request of these keys (`api_keys.id`) with its history; null for an unknown id. */
export const requestStatus = async (
  { sql }: Pick<Db, "sql">,
  { keyIds, requestId }: { readonly keyIds: readonly string[]; readonly requestId: string },
): Promise<RequestStatus | null> => {
  const at = isoTime(sql, "h.at");
  const [row] = await sql<(Omit<RequestStatus, "paused"> & { readonly paused: boolean })[]>`
    select r.status in ('QUEUED', 'PENDING') and r.tx_id is null
             and ${isPaused(sql, "asset", sql`r.asset`)} as paused,
           r.id as "requestId", r.status, r.message, r.reason, ${outcomeOf(sql)} as outcome,
           r.tx_id as "txId", (
      select json_agg(json_build_object('status', h.status, 'at', ${at}, 'message', h.message)
                      order by h.number)
      from ta_request_history h where h.request_id = r.id) as history
    from ta_requests r where r.id = ${requestId} and r.key_id = any(${texts(keyIds)}::text[])`;
  if (row === undefined) return null;
  const { paused, ...request } = row;
  return paused ? { ...request, paused } : request;
};

/** Newest whitelist request of these keys (`api_keys.id`) for a wallet; null without one. */
export const newestWhitelistRequest = async (
  { sql }: Pick<Db, "sql">,
  {
    asset,
    wallet,
    keyIds,
  }: { readonly asset: string; readonly wallet: string; readonly keyIds: readonly string[] },
): Promise<string | null> => {
  const [row] = await sql<{ id: string }[]>`
    select id from ta_requests
    where asset = ${asset} and wallet = ${wallet} and kind = 'whitelist'
      and key_id = any(${texts(keyIds)}::text[])
    order by sequence desc limit 1`;
  return row?.id ?? null;
};
