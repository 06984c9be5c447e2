/** The operator's view of all callbacks, without bodies. */
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryStatus,
  MOST_ATTEMPTS,
} from "./deliveries.ts";
import { pendingMessages } from "./figures.ts";

type DeliveryPlace = {
  /** ISO 8601 in UTC, with microseconds. */
  readonly at: string;
  readonly sequence: bigint;
};

/** Its URL may hold the receiver's secrets. */
export type DeliveryOverview = Omit<Delivery, "attempts"> & {
  readonly givenUpAt: string | null;
  readonly attemptCount: number;
  readonly lastAttempt: DeliveryAttempt | null;
  readonly place: DeliveryPlace;
};

type DeliveryFilter = {
  readonly status?: DeliveryStatus | undefined;
  /** Key of an endpoint. */
  readonly endpoint?: string | undefined;
  readonly id?: string | undefined;
  /** Inclusive, by time of enqueueing. */
  readonly since?: Date | undefined;
};

/** Messages before a cursor, newest first. */
export const deliveryOverviews = async (
  { sql }: { readonly sql: Sql },
  page: DeliveryFilter & { readonly after?: DeliveryPlace | undefined; readonly limit: number },
): Promise<readonly DeliveryOverview[]> => {
  const { after, limit } = page;
  const rows = await sql<Row[]>`
    select m.*, e.url, a.attempt
    from (
      select m.id, m.endpoint, m.type, m.reference, m.attempts, m.sequence,
             case when m.status = 'pending' and w.withdrawn_at is not null then 'withdrawn'
                  else m.status end as status,
             ${iso(sql, "m.created_at")} as created, ${iso(sql, "m.delivered_at")} as delivered,
             ${iso(sql, "m.given_up_at")} as given_up, m.created_at
      from callback_messages m join callback_endpoints w on w.key = m.endpoint
      where ${filtered(sql, page)}
        ${after === undefined ? sql`` : sql`and (m.created_at, m.sequence) < (${after.at}::timestamptz, ${after.sequence}::int8)`}
      order by m.created_at desc, m.sequence desc limit ${limit}
    ) m
    join callback_endpoints e on e.key = m.endpoint
    left join lateral (
      select ${attemptObject(sql)} as attempt from callback_attempts a
      where a.message_id = m.id order by a.number desc limit 1
    ) a on true
    order by m.created_at desc, m.sequence desc`;
  return rows.map(shown);
};

type DeliveryDetail = DeliveryOverview &
  Pick<Delivery, "attempts"> & {
    /** ISO 8601; null when another message precedes it, or no attempt is left. */
    readonly nextAttemptAt: string | null;
  };

/** Null for an unknown id. */
export const deliveryWithAttempts = async (
  on: { readonly sql: Sql },
  id: string,
): Promise<DeliveryDetail | null> => {
  const { sql } = on;
  const [[found], [next], attempts] = await Promise.all([
    deliveryOverviews(on, { id, limit: 1 }),
    sql<{ due: string }[]>`
      select ${iso(sql, "l.due_at")} as due
      from callback_messages m join callback_lanes l on l.endpoint = m.endpoint and l.lane = m.lane
      where m.id = ${id} and m.status = 'pending' and not exists (
        select 1 from callback_messages before
        where before.endpoint = m.endpoint and before.lane = m.lane and before.status = 'pending'
          and before.sequence < m.sequence)`,
    sql<{ attempt: DeliveryAttempt }[]>`
      select ${attemptObject(sql)} as attempt from callback_attempts a
      where a.message_id = ${id} order by a.number desc limit ${MOST_ATTEMPTS}`,
  ]);
  if (found === undefined) return null;
  return {
    ...found,
    attempts: attempts.map(({ attempt }) => timed(attempt)).toReversed(),
    nextAttemptAt: milliseconds(next?.due ?? null),
  };
};

/** `most` means that many or more. */
export const countDeliveries = async (
  { sql }: { readonly sql: Sql },
  filter: DeliveryRange,
  most: number,
): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from (
      select 1 from callback_messages m where ${inRange(sql, filter)} limit ${most}) as bounded`;
  return row?.count ?? 0;
};

/** Messages by time of enqueueing. */
export type DeliveryRange = {
  readonly statuses: readonly ("failed" | "disabled" | "delivered")[];
  readonly endpoint?: string | undefined;
  /** Inclusive. */
  readonly since: Date;
  /** Exclusive. */
  readonly until?: Date | undefined;
  readonly after?: DeliveryPlace | undefined;
};

/** Oldest first. */
export const deliveriesInRange = async (
  { sql }: { readonly sql: Sql },
  range: DeliveryRange & { readonly limit: number },
): Promise<readonly { readonly id: string; readonly place: DeliveryPlace }[]> => {
  const rows = await sql<{ id: string; created: string; sequence: bigint }[]>`
    select m.id, ${iso(sql, "m.created_at")} as created, m.sequence
    from callback_messages m where ${inRange(sql, range)}
    order by m.created_at, m.sequence limit ${range.limit}`;
  return rows.map(({ id, created, sequence }) => ({ id, place: { at: created, sequence } }));
};

const inRange = (sql: Sql, { statuses, endpoint, since, until, after }: DeliveryRange) => sql`
  m.status = any(${texts(statuses)}::text[])
  -- Repeats the predicate of a partial index, or Postgres skips the index.
  ${statuses.includes("delivered") ? sql`` : sql`and m.status in ('failed', 'disabled')`}
  and m.created_at >= ${since.toISOString()}::timestamptz
  ${until === undefined ? sql`` : sql`and m.created_at < ${until.toISOString()}::timestamptz`}
  ${endpoint === undefined ? sql`` : sql`and m.endpoint = ${endpoint}`}
  ${after === undefined ? sql`` : sql`and (m.created_at, m.sequence) > (${after.at}::timestamptz, ${after.sequence}::int8)`}`;

/** Times are ISO 8601. */
export type EndpointOverview = {
  readonly key: string;
  /** May hold the receiver's secrets. */
  readonly url: string;
  readonly failures: number;
  readonly failingSince: string | null;
  readonly lastError: string | null;
  readonly disabledAt: string | null;
  readonly disabledReason: string | null;
  readonly withdrawnAt: string | null;
  readonly withdrawnReason: string | null;
  /** Pending messages; `MOST_PENDING` means that many or more. */
  readonly pending: number;
};

const MOST_PENDING = 1_000;

/** Addresses after a key, by key. */
export const endpointOverviews = async (
  { sql }: { readonly sql: Sql },
  page: {
    readonly key?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  },
): Promise<readonly EndpointOverview[]> => {
  const { key, after, limit } = page;
  const rows = await sql<EndpointOverview[]>`
    select e.key, e.url, e.failures, ${iso(sql, "e.failing_since")} as "failingSince",
           e.last_error as "lastError", ${iso(sql, "e.disabled_at")} as "disabledAt",
           e.disabled_reason as "disabledReason", ${iso(sql, "e.withdrawn_at")} as "withdrawnAt",
           e.withdrawn_reason as "withdrawnReason", (
             select count(*)::int4 from (
               select 1 from callback_messages m where m.endpoint = e.key and m.status = 'pending'
               limit ${MOST_PENDING}) as bounded) as pending
    from callback_endpoints e
    where (${key ?? null}::text is null or e.key = ${key ?? null}::text)
      and (${after ?? null}::text is null or e.key > ${after ?? null}::text)
    order by e.key limit ${limit}`;
  return rows.map((row) => ({
    ...row,
    failingSince: milliseconds(row.failingSince),
    disabledAt: milliseconds(row.disabledAt),
    withdrawnAt: milliseconds(row.withdrawnAt),
  }));
};

/** A count of `most` means that many or more. */
type DeliveryCounts = {
  readonly pending: number;
  /** ISO 8601; null without any. */
  readonly oldestPendingAt: string | null;
  /** First given up since then, and not redelivered. */
  readonly failed: number;
  readonly disabled: number;
};

/** Pending now (without withdrawn addresses), and given up since then. */
export const deliveryCounts = async (
  { sql }: { readonly sql: Sql },
  since: Date,
  most: number,
): Promise<DeliveryCounts> => {
  const from = since.toISOString();
  const givenUp = (status: string) => sql`(
    select count(*)::int4 from (
      select 1 from callback_messages
      where status in ('failed', 'disabled') and status = ${status}
        and given_up_at >= ${from}::timestamptz
      limit ${most}) as bounded)`;
  const [row] = await sql<
    { pending: number; oldest: string | null; failed: number; disabled: number }[]
  >`
    select pending, to_json(oldest) #>> '{}' as oldest,
           ${givenUp("failed")} as failed, ${givenUp("disabled")} as disabled
    from (${pendingMessages(sql, most)}) as messages`;
  return {
    pending: row?.pending ?? 0,
    oldestPendingAt: milliseconds(row?.oldest ?? null),
    failed: row?.failed ?? 0,
    disabled: row?.disabled ?? 0,
  };
};

const filtered = (sql: Sql, { status, endpoint, id, since }: DeliveryFilter) => {
  const stored = status === "withdrawn" ? "pending" : status;
  return sql`true
    ${stored === undefined ? sql`` : sql`and m.status = ${stored}`}
    ${stored === "failed" || stored === "disabled" ? sql`and m.status in ('failed', 'disabled')` : sql``}
    ${status === "withdrawn" ? sql`and w.withdrawn_at is not null` : sql``}
    ${status === "pending" ? sql`and w.withdrawn_at is null` : sql``}
    ${endpoint === undefined ? sql`` : sql`and m.endpoint = ${endpoint}`}
    ${id === undefined ? sql`` : sql`and m.id = ${id}`}
    ${since === undefined ? sql`` : sql`and m.created_at >= ${since.toISOString()}::timestamptz`}`;
};

type Row = {
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  readonly type: string;
  readonly reference: string | null;
  readonly attempts: number;
  readonly sequence: bigint;
  readonly status: DeliveryStatus;
  readonly created: string;
  readonly delivered: string | null;
  readonly given_up: string | null;
  readonly attempt: DeliveryAttempt | null;
};

const attemptObject = (sql: Sql) => sql`
  json_build_object('at', a.at, 'url', a.url, 'statusCode', a.status_code, 'error', a.error,
                    'durationMs', a.duration_ms)`;

const shown = (row: Row): DeliveryOverview => ({
  id: row.id,
  endpoint: row.endpoint,
  url: row.url,
  type: row.type,
  reference: row.reference,
  status: row.status,
  createdAt: new Date(row.created).toISOString(),
  deliveredAt: milliseconds(row.delivered),
  givenUpAt: milliseconds(row.given_up),
  attemptCount: row.attempts,
  lastAttempt: row.attempt === null ? null : timed(row.attempt),
  place: { at: row.created, sequence: row.sequence },
});

const timed = (attempt: DeliveryAttempt): DeliveryAttempt => ({
  ...attempt,
  at: new Date(attempt.at).toISOString(),
});

const milliseconds = (time: string | null): string | null =>
  time === null ? null : new Date(time).toISOString();

/** ISO 8601 in UTC, with the microseconds that cursors need. */
const iso = (sql: Sql, column: string) =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
