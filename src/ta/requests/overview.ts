/** The operator's view of all requests; nothing personal. */
import type { Sql } from "../../database/connect.ts";
import { isoMicros, isoTime, type TimedCursor } from "../../database/iso-time.ts";
import type { Fragment } from "../../lanes/lanes.ts";
import { isPaused } from "../../pauses/pauses.ts";
import type { RequestKind } from "./accept.ts";
import type { Outcome } from "./failure-reasons.ts";
import { type RequestSearch, searchStarts } from "./find-requests.ts";
import { outcomeOf } from "./outcome.ts";
import type { RequestStatus } from "./status.ts";

/** One request, without investor and wallet. Times are ISO 8601. */
export type RequestOverview = TimedCursor & {
  readonly id: string;
  readonly asset: string;
  readonly kind: RequestKind;
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  readonly outcome: Outcome | null;
  /** Since acceptance. */
  readonly ageSeconds: number;
  readonly txId: string | null;
  /** The next step's precondition; null once final. */
  readonly waitsFor: string | null;
  /** The reserved gas coin or nonce, under the command's name for it; null for none. */
  readonly purse: string | null;
  /** The newest step's, as is `updatedAt`. */
  readonly message: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** Newest first, before a cursor; those of a wallet or an investor by number. */
export const requestOverviews = async (
  { sql }: { readonly sql: Sql },
  page: RequestSearch & {
    /** `OPEN` means `QUEUED` and `PENDING`. */
    readonly status?: "QUEUED" | "PENDING" | "SUCCESS" | "FAILED" | "OPEN" | undefined;
    readonly id?: string | undefined;
    readonly after?: TimedCursor | undefined;
    readonly oldestFirst?: boolean;
    readonly limit: number;
  },
): Promise<readonly RequestOverview[]> => {
  const { status, asset, id, after, oldestFirst = false, limit } = page;
  const ofStatus =
    status === undefined
      ? sql``
      : status === "OPEN"
        ? sql`and ${isOpen(sql)}`
        : // Repeat the predicate, or Postgres skips the partial index.
          sql`and ${status === "FAILED" ? sql`r.status = 'FAILED'` : sql`r.status = ${status}`}`;
  const starts = searchStarts(sql, page);
  const direction = oldestFirst ? sql`` : sql`desc`;
  const [inOrder, isAfter] =
    starts === undefined
      ? [
          sql`order by r.created_at ${direction}, r.sequence ${direction}`,
          (cursor: TimedCursor) =>
            sql`and (r.created_at, r.sequence) < (${cursor.at}::timestamptz, ${cursor.sequence}::int8)`,
        ]
      : [
          sql`order by r.sequence ${direction}`,
          (cursor: TimedCursor) => sql`and r.sequence < ${cursor.sequence}::int8`,
        ];
  const filtered = sql`
    ${ofStatus} ${asset === undefined ? sql`` : sql`and r.asset = ${asset}`}
    ${id === undefined ? sql`` : sql`and r.id = ${id}`}
    ${after === undefined ? sql`` : isAfter(after)}
    ${inOrder} limit ${limit}`;
  const found =
    starts === undefined
      ? sql`select r.id from ta_requests r where true ${filtered}`
      : sql`
        select r.id from ${starts.from} cross join lateral (
          select r.id, r.sequence from ta_requests r where ${starts.isOf} ${filtered}) as r
        ${inOrder} limit ${limit}`;
  return await sql<RequestOverview[]>`
    select r.id, r.asset, r.kind, r.status, r.reason, ${outcomeOf(sql)} as outcome,
           floor(extract(epoch from now() - r.created_at))::float8 as "ageSeconds",
           r.tx_id as "txId",
           -- In the order of processing.
           case
             when not ${isOpen(sql)} then null
             when earlier.id is not null then 'the investor''s request before it, ' || earlier.id
             when r.tx_id is null and ${isPaused(sql, "asset", sql`r.asset`)}
               then 'an operator, who paused ' || r.asset
             when r.status = 'QUEUED' then 'a process that works for ' || r.asset
             when r.tx_id is not null then 'its transaction (' || r.message || ')'
             when r.kind = 'kyc' then 'a process that works for ' || r.asset
             when w.request_id is not null
               then 'the request that has its wallet, ' || w.request_id
             when p.resource is not null then 'its signer'
             else 'the register to reach the ledger''s end, then a coin or nonce that is free'
           end as "waitsFor",
           p.resource as purse, r.message, ${isoTime(sql, "r.created_at")} as "createdAt",
           ${isoTime(sql, "r.updated_at")} as "updatedAt",
           ${isoMicros(sql, "r.created_at")} as at, r.sequence
    from ta_requests r
    left join ta_reservations p on p.request_id = r.id
    left join ta_wallet_claims w on w.asset = r.asset and w.wallet = r.wallet
      and w.request_id <> r.id and r.kind = 'whitelist'
    left join lateral (
      select id from ta_requests
      where lane_id = r.lane_id and status in ('QUEUED', 'PENDING') and sequence < r.sequence
      order by sequence limit 1) earlier on ${isOpen(sql)}
    where r.id in (${found})
    ${inOrder}`;
};

/** A request's wallet, canonical; undefined for an unknown id (a UUID). */
export const requestWallet = async (
  { sql }: { readonly sql: Sql },
  id: string,
): Promise<string | undefined> => {
  const [row] = await sql<{ wallet: string }[]>`select wallet from ta_requests where id = ${id}`;
  return row?.wallet;
};

/** Oldest first. */
export const requestHistory = async (
  { sql }: { readonly sql: Sql },
  id: string,
): Promise<RequestStatus["history"]> =>
  await sql<RequestStatus["history"][number][]>`
    select ${isoTime(sql, "at")} as at, status, message
    from ta_request_history where request_id = ${id} order by number`;

/** A count of `most` means that many or more. */
type RequestCounts = {
  readonly open: number;
  /** FAILED since then; the next two are among them. */
  readonly failed: number;
  readonly alreadyDone: number;
  readonly undelivered: number;
  readonly succeeded: number;
};

export const requestCounts = async (
  { sql }: { readonly sql: Sql },
  since: Date,
  most: number,
): Promise<RequestCounts> => {
  const from = sql`${since.toISOString()}::timestamptz`;
  const [row] = await sql<RequestCounts[]>`
    select (select count(*)::int4 from (
              select 1 from ta_requests r where ${isOpen(sql)} limit ${most}) as bounded) as open,
           (select count(*)::int4 from (
              ${endedRows(sql, "SUCCESS", sql`r.updated_at >= ${from}`, most)}) as bounded) as succeeded,
           ended.failed, ended."alreadyDone", ended.undelivered
    from (
      select count(*)::int4 as failed, ${counted(sql, "already_done")} as "alreadyDone",
             ${counted(sql, "done_undelivered")} as undelivered
      from (${endedRows(sql, "FAILED", sql`r.updated_at >= ${from}`, most)}) as bounded) as ended`;
  return row ?? { open: 0, failed: 0, alreadyDone: 0, undelivered: 0, succeeded: 0 };
};

/** Requests that ended on a day in UTC, by outcome. */
type DayFigures = {
  /** Such as `2026-11-27`. */
  readonly day: string;
  readonly done: number;
  readonly alreadyDone: number;
  readonly doneUndelivered: number;
  readonly failed: number;
};

/** Of the last days, oldest first, today included; of each day at most `most` per status. */
export const requestFiguresByDay = async (
  { sql }: { readonly sql: Sql },
  days: number,
  most: number,
): Promise<readonly DayFigures[]> => {
  const ofDay = sql`r.updated_at >= day.at and r.updated_at < day.at + interval '24 hours'`;
  return await sql<DayFigures[]>`
    select to_char(day.at at time zone 'UTC', 'YYYY-MM-DD') as day,
           success.done + failure.done as done, failure."alreadyDone", failure."doneUndelivered",
           failure.failed
    from generate_series(${days - 1}::int4, 0, -1) as ago
    cross join lateral (
      select date_trunc('day', now(), 'UTC') - ago * interval '24 hours' as at) as day
    cross join lateral (
      select count(*)::int4 as done
      from (${endedRows(sql, "SUCCESS", ofDay, most)}) as bounded) as success
    cross join lateral (
      select ${counted(sql, "done")} as done, ${counted(sql, "already_done")} as "alreadyDone",
             ${counted(sql, "done_undelivered")} as "doneUndelivered",
             ${counted(sql, "failed")} as failed
      from (${endedRows(sql, "FAILED", ofDay, most)}) as bounded) as failure
    order by day`;
};

/** Outcomes, from the index of ended requests: its predicate and its columns. */
const endedRows = (sql: Sql, status: "SUCCESS" | "FAILED", when: Fragment, most: number) => sql`
  select ${status === "SUCCESS" ? sql`null` : outcomeOf(sql)} as outcome from ta_requests r
  where r.status in ('SUCCESS', 'FAILED') and r.status = ${status} and ${when} limit ${most}`;

const counted = (sql: Sql, outcome: Outcome) =>
  sql`(count(*) filter (where outcome = ${outcome}))::int4`;

const isOpen = (sql: Sql) => sql`r.status in ('QUEUED', 'PENDING')`;
