/** How callbacks are doing, for health and metrics. */
import type { Sql } from "../database/connect.ts";

/** An endpoint that needs somebody's attention. */
export type EndpointFigures = {
  readonly key: string;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** Since when; ISO 8601. */
  readonly failingSince: string | null;
  readonly lastError: string | null;
  readonly disabledAt: string | null;
};

export type CallbackFigures = {
  /** Messages under way, without those of withdrawn endpoints; `COUNT_CAP` means that many or more. */
  readonly pending: number;
  /** Age of the oldest of them; 0 without any. */
  readonly oldestPendingSeconds: number;
  /** Three attempts or more in a row failed; the longest failing first, a hundred at most. */
  readonly failing: readonly EndpointFigures[];
  readonly disabled: readonly EndpointFigures[];
};

/** Attempts in a row that must fail before somebody is told. */
const FAILING_AFTER = 3;

/** Counting goes no further: a number for a scrape every few seconds must stay cheap. */
export const COUNT_CAP = 100_000;

const MOST_ENDPOINTS = 100;

export const callbackFigures = async ({ sql }: { readonly sql: Sql }): Promise<CallbackFigures> => {
  // Each endpoint by its own index: what waits for a withdrawn one is not even looked at.
  const counted = sql<{ pending: number; oldest: number }[]>`
    with active as (select key from callback_endpoints where withdrawn_at is null)
    select
      (select count(*)::int4 from (
         select 1 from active cross join lateral (
           select 1 from callback_messages where endpoint = key and status = 'pending'
           limit ${COUNT_CAP}) as of_one
         limit ${COUNT_CAP}) as bounded) as pending,
      coalesce((
        select greatest(0, extract(epoch from now() - min(created_at)))::float8
        from active cross join lateral (
          select created_at from callback_messages where endpoint = key and status = 'pending'
          order by created_at limit 1) as first_of_one), 0) as oldest`;
  const troubled = sql<
    {
      key: string;
      failures: number;
      failing_since: string | null;
      last_error: string | null;
      disabled_at: string | null;
    }[]
  >`
    select key, failures, to_json(failing_since) #>> '{}' as failing_since, last_error,
           to_json(disabled_at) #>> '{}' as disabled_at
    from callback_endpoints
    where withdrawn_at is null and (disabled_at is not null or failures >= ${FAILING_AFTER})
    order by failing_since nulls last, key limit ${MOST_ENDPOINTS}`;
  const [[totals], rows] = await Promise.all([counted, troubled]);
  const endpoints = rows.map(({ key, failures, failing_since, last_error, disabled_at }) => ({
    key,
    failures,
    failingSince: failing_since === null ? null : new Date(failing_since).toISOString(),
    lastError: last_error,
    disabledAt: disabled_at === null ? null : new Date(disabled_at).toISOString(),
  }));
  return {
    pending: totals?.pending ?? 0,
    oldestPendingSeconds: totals?.oldest ?? 0,
    failing: endpoints.filter(({ disabledAt }) => disabledAt === null),
    disabled: endpoints.filter(({ disabledAt }) => disabledAt !== null),
  };
};
