/** A caller's own requests, newest first. */
import { texts } from "../../database/column-arrays.ts";
import type { Db, Sql } from "../../database/connect.ts";
import { isoMicros, isoTime, type TimedCursor } from "../../database/iso-time.ts";
import type { Fragment } from "../../lanes/lanes.ts";
import type { RequestKind } from "./accept.ts";
import type { FailureReason, Outcome } from "./failure-reasons.ts";
import { type RequestSearch, type Starts, searchStarts } from "./find-requests.ts";
import { outcomeOf } from "./outcome.ts";

/** Times are ISO 8601. */
type ListedRequest = TimedCursor & {
  readonly requestId: string;
  readonly kind: RequestKind;
  readonly investorId: string;
  /** Canonical. */
  readonly wallet: string;
  readonly status: "QUEUED" | "PENDING" | "SUCCESS" | "FAILED";
  readonly message: string;
  /** Null unless FAILED. */
  readonly reason: FailureReason | null;
  readonly outcome: Outcome | null;
  readonly txId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

type ListFilter = RequestSearch & {
  readonly asset: string;
  /** `api_keys.id` of the caller, and of those it took over from. */
  readonly keyIds: readonly string[];
  /** `OPEN` means `QUEUED` and `PENDING`. */
  readonly status?: ListedRequest["status"] | "OPEN" | undefined;
  readonly kind?: RequestKind | undefined;
  /** Of acceptance, both inclusive, to the millisecond. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

type Page = {
  readonly rows: readonly ListedRequest[];
  /** Where to go on although this page is not full; null when all were looked at. */
  readonly lookedThrough: TimedCursor | null;
};

/**
 * Rows that a page looks at: bounds a page of few among very many. Such a page is shorter, or empty,
 * and goes on from the last row looked at.
 */
export const MOST_LOOKED_AT = 5_000;

export const ownRequests = async (
  { sql }: Pick<Db, "sql">,
  filter: ListFilter,
  { after, limit }: { readonly after?: TimedCursor | undefined; readonly limit: number },
): Promise<Page> => {
  const { starts, byNumber, isFiltered } = scanOf(sql, filter);
  const most = isFiltered ? Math.max(MOST_LOOKED_AT, limit) : limit;
  const inOrder = byNumber
    ? sql`order by r.sequence desc`
    : sql`order by r.created_at desc, r.sequence desc`;
  const isAfter =
    after === undefined
      ? sql``
      : byNumber
        ? sql`and r.sequence < ${after.sequence}::int8`
        : sql`and (r.created_at, r.sequence) < (${after.at}::timestamptz, ${after.sequence}::int8)`;
  const columns = sql`r.id, r.created_at, r.sequence, r.status, r.kind, r.key_id`;
  const inTime = timeBounds(sql, filter);
  const rows = await sql<(ListedRequest & LookedThrough)[]>`
    with looked_at as materialized (
      select ${columns} from ${starts.from} cross join lateral (
        select ${columns} from ta_requests r
        where ${starts.isOf} ${isAfter} ${byNumber ? sql`` : inTime} ${inOrder} limit ${most}) as r
      ${inOrder} limit ${most}
    ), found as materialized (
      select id from looked_at r where r.key_id = any(${texts(filter.keyIds)}::text[])
        ${byNumber ? inTime : sql``} ${statusIs(sql, filter.status)}
        ${filter.kind === undefined ? sql`` : sql`and r.kind = ${filter.kind}`}
      ${inOrder} limit ${limit}
    ), last as (
      select ${isoMicros(sql, "r.created_at")} as at, r.sequence
      from looked_at r ${inOrder} offset ${most - 1} limit 1
    )
    select last.at as "lastAt", last.sequence as "lastSequence", r.id as "requestId", r.kind,
           r.investor_id as "investorId", r.wallet, r.status, r.message, r.reason,
           ${outcomeOf(sql)} as outcome, r.tx_id as "txId",
           ${isoTime(sql, "r.created_at")} as "createdAt",
           ${isoTime(sql, "r.updated_at")} as "updatedAt",
           ${isoMicros(sql, "r.created_at")} as at, r.sequence
    from (select) as one left join last on true
    left join (found join ta_requests r on r.id = found.id) on true
    ${inOrder}`;
  const [{ lastAt, lastSequence } = { lastAt: null, lastSequence: null }] = rows;
  return {
    rows: rows
      .filter(({ requestId }) => requestId !== null)
      .map(({ lastAt: _at, lastSequence: _sequence, ...request }) => request),
    lookedThrough:
      lastAt === null || lastSequence === null ? null : { at: lastAt, sequence: lastSequence },
  };
};

type LookedThrough = { readonly lastAt: string | null; readonly lastSequence: bigint | null };

type Scan = {
  readonly starts: Starts;
  /** In the order of numbers; else of acceptance. */
  readonly byNumber: boolean;
  /** Whether rows that are looked at may not be among those asked for. */
  readonly isFiltered: boolean;
};

/** The index that has the fewest other rows. */
const scanOf = (sql: Sql, filter: ListFilter): Scan => {
  const { asset, keyIds, status, kind } = filter;
  const search = searchStarts(sql, filter);
  if (search !== undefined) return { starts: search, byNumber: true, isFiltered: true };
  const one = sql`(select) as start`;
  if (status === "FAILED") {
    const starts = { from: one, isOf: sql`r.status = 'FAILED'` };
    return { starts, byNumber: false, isFiltered: true };
  }
  if (status !== undefined && status !== "SUCCESS") {
    const isOf = sql`r.asset = ${asset} and r.status in ('QUEUED', 'PENDING')`;
    return { starts: { from: one, isOf }, byNumber: true, isFiltered: true };
  }
  const from = sql`unnest(${texts(keyIds)}::text[]) as start (key_id)`;
  const starts = { from, isOf: sql`r.key_id = start.key_id` };
  return { starts, byNumber: false, isFiltered: status !== undefined || kind !== undefined };
};

const timeBounds = (sql: Sql, { from, to }: ListFilter): Fragment => sql`
  ${from === undefined ? sql`` : sql`and r.created_at >= ${from.toISOString()}::timestamptz`}
  ${to === undefined ? sql`` : sql`and r.created_at < ${to.toISOString()}::timestamptz + interval '1 ms'`}`;

const statusIs = (sql: Sql, status: ListFilter["status"]): Fragment => {
  if (status === undefined) return sql``;
  return status === "OPEN"
    ? sql`and r.status in ('QUEUED', 'PENDING')`
    : sql`and r.status = ${status}`;
};
