/** The operator's view of all requests; nothing personal. */
import type { Sql } from "../../database/connect.ts";
import { isoMicros, isoTime, type TimedCursor } from "../../database/iso-time.ts";
import type { RequestKind } from "./accept.ts";
import type { RequestStatus } from "./status.ts";

/** One request, without investor and wallet. Times are ISO 8601. */
export type RequestOverview = TimedCursor & {
  readonly id: string;
  readonly asset: string;
  readonly kind: RequestKind;
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
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

/** Newest first, before a cursor. */
export const requestOverviews = async (
  { sql }: { readonly sql: Sql },
  page: {
    /** `OPEN` means `QUEUED` and `PENDING`. */
    readonly status?: "QUEUED" | "PENDING" | "SUCCESS" | "FAILED" | "OPEN" | undefined;
    readonly asset?: string | undefined;
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
  const inOrder = oldestFirst
    ? sql`order by r.created_at, r.sequence`
    : sql`order by r.created_at desc, r.sequence desc`;
  return await sql<RequestOverview[]>`
    select r.id, r.asset, r.kind, r.status, r.reason,
           floor(extract(epoch from now() - r.created_at))::float8 as "ageSeconds",
           r.tx_id as "txId",
           -- In the order of processing.
           case
             when not ${isOpen(sql)} then null
             when earlier.id is not null then 'the investor''s request before it, ' || earlier.id
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
    where r.id in (
      select r.id from ta_requests r where true ${ofStatus}
        ${asset === undefined ? sql`` : sql`and r.asset = ${asset}`}
        ${id === undefined ? sql`` : sql`and r.id = ${id}`}
        ${after === undefined ? sql`` : sql`and (r.created_at, r.sequence) < (${after.at}::timestamptz, ${after.sequence}::int8)`}
      ${inOrder} limit ${limit})
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
  /** Since then. */
  readonly failed: number;
  readonly succeeded: number;
};

export const requestCounts = async (
  { sql }: { readonly sql: Sql },
  since: Date,
  most: number,
): Promise<RequestCounts> => {
  const ended = (status: string) => sql`(
    select count(*)::int4 from (
      select 1 from ta_requests
      where status in ('SUCCESS', 'FAILED') and status = ${status}
        and updated_at >= ${since.toISOString()}::timestamptz limit ${most}) as bounded)`;
  const [row] = await sql<RequestCounts[]>`
    select (select count(*)::int4 from (
              select 1 from ta_requests r where ${isOpen(sql)} limit ${most}) as bounded) as open,
           ${ended("FAILED")} as failed, ${ended("SUCCESS")} as succeeded`;
  return row ?? { open: 0, failed: 0, succeeded: 0 };
};

const isOpen = (sql: Sql) => sql`r.status in ('QUEUED', 'PENDING')`;
