/** Counts of requests, for health and metrics; nothing personal. */
import { texts } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";

/** Requests waiting, in progress, and failed within the last day. */
type RequestFigures = {
  readonly waiting: number;
  readonly active: number;
  readonly failed: number;
};

/** Bound of each count: health is polled every few seconds. */
const COUNTED_AT_MOST = 100_000;

export const requestFigures = async ({ sql }: Pick<Db, "sql">): Promise<RequestFigures> => {
  const [row] = await sql<RequestFigures[]>`
    with open as (
      select status from ta_requests where status in ('QUEUED', 'PENDING') limit ${COUNTED_AT_MOST}
    ), failed as (
      select 1 from ta_requests where status = 'FAILED' and updated_at > now() - interval '1 day'
      limit ${COUNTED_AT_MOST}
    )
    select (select count(*) filter (where status = 'QUEUED') from open)::int4 as waiting,
           (select count(*) filter (where status = 'PENDING') from open)::int4 as active,
           (select count(*) from failed)::int4 as failed`;
  return row ?? { waiting: 0, active: 0, failed: 0 };
};

export type OpenRequests = {
  readonly asset: string;
  /** Both counted up to 100,000. */
  readonly queued: number;
  readonly pending: number;
  /** Null while none is open. */
  readonly oldest: {
    /** `ta_lanes.id`. */
    readonly lane: bigint;
    readonly status: string;
    readonly ageSeconds: number;
  } | null;
};

/** These assets and others with open requests, by name. */
export const openRequests = async (
  { sql }: Pick<Db, "sql">,
  assets: readonly string[],
): Promise<readonly OpenRequests[]> => {
  const rows = await sql<
    {
      asset: string;
      queued: number;
      pending: number;
      lane: bigint | null;
      status: string | null;
      age_seconds: number | null;
    }[]
  >`
    with recursive named as (
      -- One index look-up per asset, however many requests each has.
      (select asset from ta_requests where status in ('QUEUED', 'PENDING') order by asset limit 1)
      union all
      select (select r.asset from ta_requests r
              where r.status in ('QUEUED', 'PENDING') and r.asset > named.asset
              order by r.asset limit 1)
      from named where named.asset is not null
    ), known as (
      select asset from named where asset is not null
      union select unnest(${texts(assets)}::text[])
    )
    select known.asset, counted.queued, counted.pending, oldest.lane, oldest.status,
           oldest.age_seconds
    from known cross join lateral (
      select (count(*) filter (where status = 'QUEUED'))::int4 as queued,
             (count(*) filter (where status = 'PENDING'))::int4 as pending
      from (
        select status from ta_requests r
        where r.asset = known.asset and r.status in ('QUEUED', 'PENDING')
        limit ${COUNTED_AT_MOST}
      ) open
    ) counted left join lateral (
      select r.lane_id as lane, r.status,
             greatest(0, floor(extract(epoch from now() - r.created_at)))::float8 as age_seconds
      from ta_requests r
      where r.asset = known.asset and r.status in ('QUEUED', 'PENDING')
      order by r.sequence limit 1
    ) oldest on true
    order by known.asset`;
  return rows.map(({ asset, queued, pending, lane, status, age_seconds: ageSeconds }) => ({
    asset,
    queued,
    pending,
    oldest:
      lane === null || status === null || ageSeconds === null ? null : { lane, status, ageSeconds },
  }));
};

type EndedRequests = {
  readonly asset: string;
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  readonly requests: number;
};

/**
 * Requests that ended after `since` and up to `lagSeconds` ago, and that time as the next `since`:
 * repeated calls count each once, unless its transaction took longer than the lag. One that failed
 * after all, because its result could not be delivered, counts twice.
 * @param since as returned before; null: from now on
 */
export const endedRequests = async (
  { sql }: Pick<Db, "sql">,
  since: string | null,
  lagSeconds: number,
): Promise<{ readonly until: string; readonly ended: readonly EndedRequests[] }> => {
  const [row] = await sql<{ until: string }[]>`
    select (now() - make_interval(secs => ${lagSeconds}))::text as until`;
  const until = row?.until ?? since ?? "";
  if (since === null) return { until, ended: [] };
  const ended = await sql<EndedRequests[]>`
    select asset, status, reason, count(*)::int4 as requests from ta_requests
    where status in ('SUCCESS', 'FAILED')
      and updated_at > ${since}::text::timestamptz and updated_at <= ${until}::text::timestamptz
    group by asset, status, reason`;
  return { until, ended };
};
