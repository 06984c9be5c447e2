/** What an endpoint's owner sees of its deliveries, and sending one of them again. */
import { texts } from "../database/column-arrays.ts";
import type { Database, Sql } from "../database/connect.ts";
import { announceArrivals } from "./arrivals.ts";
import { holdEndpoints } from "./endpoints.ts";

/**
 * `withdrawn`: pending, at an address that is not sent to for now; `failed`: given up after the last
 * attempt; `disabled`: given up because its address was disabled first.
 */
export type DeliveryStatus = "pending" | "withdrawn" | "delivered" | "failed" | "disabled";

/** One message and its attempts; times are ISO 8601 in UTC. */
export type Delivery = {
  /** `webhook-id`. */
  readonly id: string;
  readonly endpoint: string;
  /** Where it goes now. */
  readonly url: string;
  readonly type: string;
  readonly reference: string | null;
  readonly status: DeliveryStatus;
  readonly createdAt: string;
  readonly deliveredAt: string | null;
  /** Oldest first; the newest hundred. */
  readonly attempts: readonly DeliveryAttempt[];
};

export type DeliveryAttempt = {
  readonly at: string;
  /** Null when no answer came. */
  readonly statusCode: number | null;
  /** Null when it succeeded. */
  readonly error: string | null;
  readonly durationMs: number;
};

/** Attempts shown of one message; more can only come from many redeliveries. */
const MOST_ATTEMPTS = 100;

/**
 * Deliveries to endpoints, oldest first. `since` (inclusive) is when they were enqueued; `after` is the
 * id of the last one seen, for the next page.
 */
export const listDeliveries = async (
  { sql }: { readonly sql: Sql },
  page: {
    readonly endpoints: readonly string[];
    readonly since?: Date | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  },
): Promise<readonly Delivery[]> => {
  const since = page.since?.toISOString() ?? null;
  const rows = await sql<
    (Omit<Delivery, "createdAt" | "deliveredAt" | "attempts"> & {
      created_at: string;
      delivered_at: string | null;
      attempts: (Omit<DeliveryAttempt, "at"> & { at: string })[];
    })[]
  >`
    select m.id, m.endpoint, e.url, m.type, m.reference,
           case when m.status = 'pending' and e.withdrawn_at is not null then 'withdrawn'
                else m.status end as status,
           to_json(m.created_at) #>> '{}' as created_at, to_json(m.delivered_at) #>> '{}' as delivered_at,
           coalesce((
             select json_agg(json_build_object('at', a.at, 'statusCode', a.status_code,
                                               'error', a.error, 'durationMs', a.duration_ms)
                             order by a.number)
             from callback_attempts a
             where a.message_id = m.id and a.number > m.attempts - ${MOST_ATTEMPTS}
           ), '[]') as attempts
    from callback_messages m join callback_endpoints e on e.key = m.endpoint
    where m.endpoint = any(${texts(page.endpoints)}::text[])
      and (${since}::timestamptz is null or m.created_at >= ${since}::timestamptz)
      and (${page.after ?? null}::text is null or (m.created_at, m.sequence) >
           (select created_at, sequence from callback_messages where id = ${page.after ?? null}::text))
    order by m.created_at, m.sequence limit ${page.limit}`;
  return rows.map(({ created_at, delivered_at, attempts, ...rest }) => ({
    ...rest,
    createdAt: iso(created_at),
    deliveredAt: delivered_at === null ? null : iso(delivered_at),
    attempts: attempts.map((attempt) => ({ ...attempt, at: iso(attempt.at) })),
  }));
};

const iso = (timestamp: string) => new Date(timestamp).toISOString();

/**
 * `accepted`: it will be sent again; `pending`: it was still on its way and is tried at once;
 * `unknown`: these endpoints have no such message.
 */
export type Redelivery = "accepted" | "pending" | "unknown";

/**
 * Sends a message again, the same body under the same `webhook-id`, with a new schedule of attempts.
 *
 * It does not wait behind newer messages nor they behind it: a receiver that acts once per id is not
 * disturbed. Whoever asks for this wants deliveries at the address, so a disabled one is enabled; at a
 * withdrawn one the message waits with the others.
 */
export const redeliver = (
  database: Pick<Database, "transaction">,
  { endpoints, id }: { readonly endpoints: readonly string[]; readonly id: string },
): Promise<Redelivery> =>
  database.transaction(async (tx) => {
    await holdEndpoints(tx);
    const [message] = await tx.sql<{ endpoint: string; lane: string; status: string }[]>`
      select endpoint, lane, status from callback_messages
      where id = ${id} and endpoint = any(${texts(endpoints)}::text[]) for no key update`;
    if (message === undefined) return "unknown";
    const { endpoint } = message;
    if (message.status === "pending") {
      await tx.sql`
        update callback_lanes set due_at = least(due_at, now()), wake_at = least(wake_at, now())
        where endpoint = ${endpoint} and lane = ${message.lane}
          and (leased_until is null or leased_until <= now())`;
      await announceArrivals(tx, [{ endpoint, lane: message.lane }]);
      return "pending";
    }
    const lane = `redelivery:${id}`;
    await tx.sql`
      update callback_messages set status = 'pending', scheduled = 0, lane = ${lane} where id = ${id}`;
    await tx.sql`
      update callback_endpoints
      set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null
      where key = ${endpoint} and disabled_at is not null`;
    await announceArrivals(tx, [{ endpoint, lane }]);
    return "accepted";
  });
