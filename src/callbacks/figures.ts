/** State of the callbacks, for health and metrics. */
import type { Sql } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { isPaused } from "../pauses/pauses.ts";

/** An endpoint that needs an operator's attention. */
type EndpointFigures = {
  readonly key: string;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** Since when; ISO 8601. */
  readonly failingSince: string | null;
  readonly lastError: string | null;
  readonly disabledAt: string | null;
};

/** All without endpoints that an operator paused. */
export type CallbackFigures = {
  /** Pending messages, without those of withdrawn and paused endpoints; `COUNT_CAP` means that many or more. */
  readonly pending: number;
  /** Age of the oldest; 0 without any. */
  readonly oldestPendingSeconds: number;
  /** Enabled, with three or more failures in a row; longest failing first, at most `MOST_ENDPOINTS`. */
  readonly failing: readonly EndpointFigures[];
  /** Disabled; the longest first, at most `MOST_ENDPOINTS`. */
  readonly disabled: readonly EndpointFigures[];
};

/** Failures in a row before an endpoint counts as failing. */
const FAILING_AFTER = 3;

/** Bounds the count, which is scraped every few seconds. */
const COUNT_CAP = 100_000;

/** Bound of each list, so that many disabled endpoints do not hide a failing one. */
export const MOST_ENDPOINTS = 100;

export const callbackFigures = async ({ sql }: { readonly sql: Sql }): Promise<CallbackFigures> => {
  const counted = sql<{ pending: number; oldest: number }[]>`
    select pending, coalesce(greatest(0, extract(epoch from now() - oldest))::float8, 0) as oldest
    from (${pendingMessages(sql, COUNT_CAP)}) as messages`;
  const troubled = (which: ReturnType<Sql>) => sql<EndpointFigures[]>`
    select key, failures, ${isoTime(sql, "failing_since")} as "failingSince",
           last_error as "lastError", ${isoTime(sql, "disabled_at")} as "disabledAt"
    from callback_endpoints
    where withdrawn_at is null and not ${isPaused(sql, "receiver", sql`key`)} and ${which}
    order by coalesce(disabled_at, failing_since), key limit ${MOST_ENDPOINTS}`;
  const [[totals], failing, disabled] = await Promise.all([
    counted,
    troubled(sql`disabled_at is null and failures >= ${FAILING_AFTER}`),
    troubled(sql`disabled_at is not null`),
  ]);
  return {
    pending: totals?.pending ?? 0,
    oldestPendingSeconds: totals?.oldest ?? 0,
    failing,
    disabled,
  };
};

/**
 * A query for one row: `pending` messages without those of withdrawn and paused endpoints, at most `most`, and when the
 * `oldest` was enqueued. One index scan per endpoint, so that messages of the others cost nothing.
 */
export const pendingMessages = (sql: Sql, most: number): ReturnType<Sql> => sql`
  with active as (
    select key from callback_endpoints
    where withdrawn_at is null and not ${isPaused(sql, "receiver", sql`key`)})
  select (select count(*)::int4 from (
            select 1 from active cross join lateral (
              select 1 from callback_messages where endpoint = key and status = 'pending'
              limit ${most}) as of_one
            limit ${most}) as bounded) as pending,
         (select min(created_at) from active cross join lateral (
            select created_at from callback_messages where endpoint = key and status = 'pending'
            order by created_at limit 1) as first_of_one) as oldest`;
