/** How callbacks are doing, for health and metrics. */
import type { Sql } from "../database/connect.ts";

/** An endpoint that needs an operator's attention. */
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
  /** Three attempts or more in a row failed, and not disabled; the longest failing first, `MOST_ENDPOINTS`. */
  readonly failing: readonly EndpointFigures[];
  /** Disabled; the longest first, `MOST_ENDPOINTS` of them beside those that fail. */
  readonly disabled: readonly EndpointFigures[];
};

/** Attempts in a row that must fail before it counts as failing. */
const FAILING_AFTER = 3;

/** Counting goes no further: a number for a scrape every few seconds must stay cheap. */
const COUNT_CAP = 100_000;

/** Endpoints shown of each kind: many that are disabled must not hide one that fails. */
export const MOST_ENDPOINTS = 100;

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
  const troubled = (which: ReturnType<Sql>) => sql<EndpointRow[]>`
    select key, failures, to_json(failing_since) #>> '{}' as failing_since, last_error,
           to_json(disabled_at) #>> '{}' as disabled_at
    from callback_endpoints where withdrawn_at is null and ${which}
    order by coalesce(disabled_at, failing_since), key limit ${MOST_ENDPOINTS}`;
  const [[totals], failing, disabled] = await Promise.all([
    counted,
    troubled(sql`disabled_at is null and failures >= ${FAILING_AFTER}`),
    troubled(sql`disabled_at is not null`),
  ]);
  return {
    pending: totals?.pending ?? 0,
    oldestPendingSeconds: totals?.oldest ?? 0,
    failing: failing.map(endpointFigures),
    disabled: disabled.map(endpointFigures),
  };
};

type EndpointRow = {
  readonly key: string;
  readonly failures: number;
  readonly failing_since: string | null;
  readonly last_error: string | null;
  readonly disabled_at: string | null;
};

const endpointFigures = (row: EndpointRow): EndpointFigures => ({
  key: row.key,
  failures: row.failures,
  failingSince: row.failing_since === null ? null : new Date(row.failing_since).toISOString(),
  lastError: row.last_error,
  disabledAt: row.disabled_at === null ? null : new Date(row.disabled_at).toISOString(),
});
