/** Counts of requests, for health and metrics. */
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
  /** Age and lane (`ta_lanes.id`) of the oldest; null while none is open. */
  readonly oldestSeconds: number | null;
  readonly oldestLane: bigint | null;
};

/** These assets and others with open requests, by name. */
export const openRequests = async (
  { sql }: Pick<Db, "sql">,
  assets: readonly string[],
): Promise<readonly OpenRequests[]> =>
  await sql<OpenRequests[]>`
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
    select known.asset, counted.queued, counted.pending, oldest.seconds as "oldestSeconds",
           oldest.lane as "oldestLane"
    from known cross join lateral (
      select (count(*) filter (where status = 'QUEUED'))::int4 as queued,
             (count(*) filter (where status = 'PENDING'))::int4 as pending
      from (
        select status from ta_requests r
        where r.asset = known.asset and r.status in ('QUEUED', 'PENDING')
        limit ${COUNTED_AT_MOST}
      ) open
    ) counted left join lateral (
      select r.lane_id as lane,
             greatest(0, floor(extract(epoch from now() - r.created_at)))::float8 as seconds
      from ta_requests r
      where r.asset = known.asset and r.status in ('QUEUED', 'PENDING')
      order by r.sequence limit 1
    ) oldest on true
    order by known.asset`;

type EndedRequests = {
  readonly asset: string;
  readonly status: string;
  /** Null unless FAILED. */
  readonly reason: string | null;
  readonly requests: number;
};

/**
 * Requests that ended after `since` and up to `lagSeconds` ago, and that time as the next `since`
 * (null: from now on). Counts one twice that failed later, when its result was not delivered.
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
