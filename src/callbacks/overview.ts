/** The operator's view of all callbacks. */
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { isoMicros, isoTime, type TimedCursor } from "../database/iso-time.ts";
import { isPaused } from "../pauses/pauses.ts";
import {
  attemptJson,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryStatus,
  MOST_ATTEMPTS,
  shownStatus,
} from "./deliveries.ts";
import { pendingMessages } from "./figures.ts";

/** Its URL may hold the receiver's secrets. */
export type DeliveryOverview = Omit<Delivery, "attempts"> &
  TimedCursor & {
    readonly givenUpAt: string | null;
    readonly attemptCount: number;
    readonly lastAttempt: DeliveryAttempt | null;
  };

type DeliveryFilter = {
  readonly status?: DeliveryStatus | undefined;
  /** Key of an endpoint. */
  readonly endpoint?: string | undefined;
  readonly id?: string | undefined;
  /** Only messages of these ids. */
  readonly ids?: readonly string[] | undefined;
  /** Inclusive, by time of enqueueing. */
  readonly since?: Date | undefined;
};

/** Messages before a cursor, newest first. */
export const deliveryOverviews = async (
  { sql }: { readonly sql: Sql },
  page: DeliveryFilter & { readonly after?: TimedCursor | undefined; readonly limit: number },
): Promise<readonly DeliveryOverview[]> => {
  const { after, limit } = page;
  return await sql<DeliveryOverview[]>`
    select m.id, m.endpoint, e.url, m.type, m.reference, ${shownStatus(sql)},
           ${isoTime(sql, "m.created_at")} as "createdAt",
           ${isoTime(sql, "m.delivered_at")} as "deliveredAt",
           ${isoTime(sql, "m.given_up_at")} as "givenUpAt", m.attempts as "attemptCount",
           (select ${attemptJson(sql)} from callback_attempts a
            where a.message_id = m.id order by a.number desc limit 1) as "lastAttempt",
           ${isoMicros(sql, "m.created_at")} as at, m.sequence
    from callback_messages m join callback_endpoints e on e.key = m.endpoint
    where ${filtered(sql, page)}
      ${after === undefined ? sql`` : sql`and (m.created_at, m.sequence) < (${after.at}::timestamptz, ${after.sequence}::int8)`}
    order by m.created_at desc, m.sequence desc limit ${limit}`;
};

/** Enough of an id to find few: its kind and four digits. */
const ID_BEGINNING = /^(te_|ta-|test-)[0-9a-f-]{4,36}$/;

/**
 * The first `limit` message ids by their order with this beginning, such as `te_4f1c`; none for a text that begins no id.
 */
export const deliveryIdsFrom = async (
  { sql }: { readonly sql: Sql },
  beginning: string,
  limit: number,
): Promise<readonly string[]> => {
  if (!ID_BEGINNING.test(beginning)) return [];
  // Whatever the collation, "z" follows every digit of an id.
  const rows = await sql<{ id: string }[]>`
    select id from callback_messages
    where id >= ${beginning} and id < ${`${beginning}z`} and starts_with(id, ${beginning})
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
};

type DeliveryDetail = DeliveryOverview &
  Pick<Delivery, "attempts"> & {
    /** ISO 8601; null when another message precedes it, no attempt is left, or its receiver is paused. */
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
    sql<{ at: string }[]>`
      select ${isoTime(sql, "l.due_at")} as at
      from callback_messages m join callback_lanes l on l.endpoint = m.endpoint and l.lane = m.lane
      where m.id = ${id} and m.status = 'pending'
        and not ${isPaused(sql, "receiver", sql`m.endpoint`)} and not exists (
        select 1 from callback_messages before
        where before.endpoint = m.endpoint and before.lane = m.lane and before.status = 'pending'
          and before.sequence < m.sequence)`,
    sql<{ attempt: DeliveryAttempt }[]>`
      select ${attemptJson(sql)} as attempt from callback_attempts a
      where a.message_id = ${id} order by a.number desc limit ${MOST_ATTEMPTS}`,
  ]);
  if (found === undefined) return null;
  return {
    ...found,
    attempts: attempts.map(({ attempt }) => attempt).toReversed(),
    nextAttemptAt: next?.at ?? null,
  };
};

/** A message's body, canonical JSON; undefined for an unknown id. */
export const sentBody = async (
  { sql }: { readonly sql: Sql },
  id: string,
): Promise<string | undefined> => {
  const [row] = await sql<{ body: string }[]>`select body from callback_messages where id = ${id}`;
  return row?.body;
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
  readonly after?: TimedCursor | undefined;
};

/** Oldest first. */
export const deliveriesInRange = async (
  { sql }: { readonly sql: Sql },
  range: DeliveryRange & { readonly limit: number },
): Promise<readonly ({ readonly id: string } & TimedCursor)[]> =>
  await sql<({ readonly id: string } & TimedCursor)[]>`
    select m.id, ${isoMicros(sql, "m.created_at")} as at, m.sequence
    from callback_messages m where ${inRange(sql, range)}
    order by m.created_at, m.sequence limit ${range.limit}`;

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
  /** By an operator; null while it is not paused. */
  readonly pausedAt: string | null;
  readonly pauseReason: string | null;
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
  const { key = null, after = null, limit } = page;
  return await sql<EndpointOverview[]>`
    select e.key, e.url, e.failures, ${isoTime(sql, "e.failing_since")} as "failingSince",
           e.last_error as "lastError", ${isoTime(sql, "e.disabled_at")} as "disabledAt",
           e.disabled_reason as "disabledReason", ${isoTime(sql, "e.withdrawn_at")} as "withdrawnAt",
           e.withdrawn_reason as "withdrawnReason", ${isoTime(sql, "p.at")} as "pausedAt",
           p.reason as "pauseReason", (
             select count(*)::int4 from (
               select 1 from callback_messages m where m.endpoint = e.key and m.status = 'pending'
               limit ${MOST_PENDING}) as bounded) as pending
    from callback_endpoints e
    left join pauses p on p.kind = 'receiver' and p.name = e.key and p.ended_at is null
    where (${key}::text is null or e.key = ${key}::text)
      and (${after}::text is null or e.key > ${after}::text)
    order by e.key limit ${limit}`;
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

/** Pending now (without withdrawn and paused addresses), and given up since then. */
export const deliveryCounts = async (
  { sql }: { readonly sql: Sql },
  since: Date,
  most: number,
): Promise<DeliveryCounts> => {
  const givenUp = (status: string) => sql`(
    select count(*)::int4 from (
      select 1 from callback_messages
      where status in ('failed', 'disabled') and status = ${status}
        and given_up_at >= ${since.toISOString()}::timestamptz
      limit ${most}) as bounded)`;
  const [row] = await sql<DeliveryCounts[]>`
    select pending, ${isoTime(sql, "oldest")} as "oldestPendingAt",
           ${givenUp("failed")} as failed, ${givenUp("disabled")} as disabled
    from (${pendingMessages(sql, most)}) as messages`;
  return row ?? { pending: 0, oldestPendingAt: null, failed: 0, disabled: 0 };
};

const filtered = (sql: Sql, { status, endpoint, id, ids, since }: DeliveryFilter) => {
  const stored = status === "withdrawn" ? "pending" : status;
  return sql`true
    ${stored === undefined ? sql`` : sql`and m.status = ${stored}`}
    ${stored === "failed" || stored === "disabled" ? sql`and m.status in ('failed', 'disabled')` : sql``}
    ${status === "withdrawn" ? sql`and e.withdrawn_at is not null` : sql``}
    ${status === "pending" ? sql`and e.withdrawn_at is null` : sql``}
    ${endpoint === undefined ? sql`` : sql`and m.endpoint = ${endpoint}`}
    ${id === undefined ? sql`` : sql`and m.id = ${id}`}
    ${ids === undefined ? sql`` : sql`and m.id = any(${texts(ids)}::text[])`}
    ${since === undefined ? sql`` : sql`and m.created_at >= ${since.toISOString()}::timestamptz`}`;
};
