/** An owner's view of its deliveries, and redelivery. */
import { texts } from "../database/column-arrays.ts";
import type { Database, Sql, Tx } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { announceArrivals } from "../lanes/arrivals.ts";
import type { Fragment } from "../lanes/lanes.ts";
import { isPaused } from "../pauses/pauses.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { holdEndpoints } from "./endpoints.ts";
import { completeBefore } from "./enqueue.ts";
import { deliveryLanes } from "./lanes.ts";
import { CALLBACK_REMOVED, isPruned, wasPruned } from "./pruning.ts";

/**
 * `withdrawn`: pending at a withdrawn address; `failed`: given up after the last attempt;
 * `disabled`: given up because its address was disabled.
 */
export type DeliveryStatus = (typeof STATUSES)[number] | "withdrawn";

/** Statuses to filter by; `pending` includes withdrawn. */
export const STATUSES = ["pending", "delivered", "failed", "disabled"] as const;

/** Times are ISO 8601 in UTC. */
export type Delivery = {
  /** `webhook-id`. */
  readonly id: string;
  readonly endpoint: string;
  /** Where it would go now; each attempt has its own. */
  readonly url: string;
  readonly type: string;
  readonly reference: string | null;
  readonly status: DeliveryStatus;
  readonly createdAt: string;
  /** First success; null: never delivered, see `wasDelivered`. */
  readonly deliveredAt: string | null;
  /** Oldest first; the newest hundred. */
  readonly attempts: readonly DeliveryAttempt[];
};

export type DeliveryAttempt = {
  readonly at: string;
  /** Where it went; null when that was not kept. */
  readonly url: string | null;
  /** Null without an answer. */
  readonly statusCode: number | null;
  /** Null when it succeeded. */
  readonly error: string | null;
  readonly durationMs: number;
};

/** Attempts shown of one message; only many redeliveries make more. */
export const MOST_ATTEMPTS = 100;

/** Owner of messages: endpoints, or the keys (`api_keys.id`) whose requests they answer. */
type MessageOwner =
  | { readonly endpoints: readonly string[] }
  | { readonly keyIds: readonly string[] };

/** Rows `(id)` of the owners, and the message's column of its owner. */
const owners = (sql: Sql, whose: MessageOwner) =>
  "keyIds" in whose
    ? { ids: sql`unnest(${texts(whose.keyIds)}::text[])`, column: sql("key_id") }
    : { ids: sql`unnest(${texts(whose.endpoints)}::text[])`, column: sql("endpoint") };

/** The owner whose message is acted on; an operator acts on all. */
type ActedOn = MessageOwner | { readonly everybodys: true };

/** `after` is not a delivery of this owner. Stop: give the id of one that is. */
export class UnknownDeliveryError extends Error {
  override readonly name = "UnknownDeliveryError";
  readonly remedy: Remedy = "stop";
}

/** `after` was removed. Stop: read on with `since`, the time of the last one seen. */
export class PrunedDeliveryError extends Error {
  override readonly name = "PrunedDeliveryError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super(`${CALLBACK_REMOVED}; give the time of the last one seen as since`);
  }
}

/**
 * Oldest first. `since` (inclusive) is the time of enqueueing; `after` is the id of the last one
 * seen. `status` scans all others, which is slow where few of very many match.
 * @throws UnknownDeliveryError (stop) for an `after` of another owner
 * @throws PrunedDeliveryError (stop)
 */
export const listDeliveries = async (
  { sql }: { readonly sql: Sql },
  page: MessageOwner & {
    readonly since?: Date | undefined;
    readonly after?: string | undefined;
    readonly status?: (typeof STATUSES)[number] | undefined;
    readonly limit: number;
  },
): Promise<readonly Delivery[]> => {
  const since = page.since?.toISOString() ?? null;
  const status = page.status ?? null;
  const { ids, column } = owners(sql, page);
  const complete = await completeBefore(sql);
  const [after] =
    page.after === undefined
      ? [{ at: null, sequence: null }]
      : await sql<{ at: string; sequence: bigint }[]>`
          select created_at::text as at, sequence from callback_messages
          where id = ${page.after} and ${column} in (select ${ids})`;
  if (after === undefined) {
    if (await wasPruned({ sql }, page.after ?? "")) throw new PrunedDeliveryError();
    throw new UnknownDeliveryError("there is no delivery of this id");
  }
  return await sql<Delivery[]>`
    select m.id, m.endpoint, e.url, m.type, m.reference, ${shownStatus(sql)},
           ${isoTime(sql, "m.created_at")} as "createdAt",
           ${isoTime(sql, "m.delivered_at")} as "deliveredAt",
           coalesce((
             select json_agg(${attemptJson(sql)} order by a.number) from callback_attempts a
             where a.message_id = m.id and a.number > m.attempts - ${MOST_ATTEMPTS}
           ), '[]') as attempts
    from ${ids} as owner (id) cross join lateral (
      -- A page of each owner, in the order of an index.
      select * from callback_messages where ${column} = owner.id
        and (${since}::timestamptz is null or created_at >= ${since}::timestamptz)
        and (${status}::text is null or status = ${status}::text)
        and created_at < ${complete}::timestamptz
        and (${after.at}::timestamptz is null
             or (created_at, sequence) > (${after.at}::timestamptz, ${after.sequence}::int8))
      order by created_at, sequence limit ${page.limit}
    ) m join callback_endpoints e on e.key = m.endpoint
    order by m.created_at, m.sequence limit ${page.limit}`;
};

/**
 * Condition: a receiver has ever answered with success, also to a message that is sent again now, or
 * that retention removed, which only removes such. `id` is an SQL expression.
 */
export const wasDelivered = (sql: Sql, id: Fragment): Fragment => sql`
  (exists (select from callback_messages d where d.id = ${id} and d.delivered_at is not null)
   or ${isPruned(sql, id)})`;

/** Status of the message `m` at the endpoint `e`. */
export const shownStatus = (sql: Sql) => sql`
  case when m.status = 'pending' and e.withdrawn_at is not null then 'withdrawn'
       else m.status end as status`;

/** The attempt `a` as a `DeliveryAttempt`. */
export const attemptJson = (sql: Sql) => sql`
  json_build_object('at', ${isoTime(sql, "a.at")}, 'url', a.url, 'statusCode', a.status_code,
                    'error', a.error, 'durationMs', a.duration_ms)`;

/**
 * `accepted`: it will be sent again; `pending`: it still was, and is tried now; `waiting`: it is
 * sent when its withdrawn address is registered again, or its paused one resumed.
 */
export type Redelivery = "accepted" | "pending" | "waiting";

/** A message, locked until the transaction ends. */
type HeldMessage = {
  readonly id: string;
  readonly endpoint: string;
  readonly lane: string;
  readonly status: string;
  readonly reference: string | null;
};

/** Finds the present endpoint of messages with this reference, if it changed. */
export type MovedTo = (tx: Tx, reference: string) => Promise<string | undefined>;

/** First step of a transaction: locks message and addresses. Undefined for another owner's message. */
export const holdMessage = async (
  tx: Tx,
  { id, ...whose }: ActedOn & { readonly id: string },
): Promise<HeldMessage | undefined> => {
  await holdEndpoints(tx);
  const [message] = await tx.sql<HeldMessage[]>`
    select id, endpoint, lane, status, reference from callback_messages
    where id = ${id} ${theirs(tx.sql, whose)} for no key update`;
  return message;
};

const theirs = (sql: Sql, whose: ActedOn) => {
  if ("everybodys" in whose) return sql``;
  const { ids, column } = owners(sql, whose);
  return sql`and ${column} in (select ${ids})`;
};

/**
 * Sends a message again under its `webhook-id`, with a new schedule of attempts, in a lane of its
 * own: a receiver that acts once per id does not depend on its order. Enables a disabled address;
 * at a withdrawn one the message waits.
 * @param hasten whether a pending message is tried now, which uses up one of its attempts
 */
export const redeliverHeld = async (
  tx: Tx,
  message: HeldMessage,
  { to, hasten = true }: { readonly to?: MovedTo | undefined; readonly hasten?: boolean } = {},
): Promise<Redelivery> => {
  const { id } = message;
  const pending = message.status === "pending";
  const moved =
    pending || message.reference === null ? undefined : await to?.(tx, message.reference);
  const endpoint = moved ?? message.endpoint;
  const lane = pending ? message.lane : `redelivery:${id}`;
  if (pending && hasten) {
    await tx.sql`
      update callback_lanes set ${deliveryLanes.dueNow(tx.sql)}
      where endpoint = ${endpoint} and lane = ${lane} and ${deliveryLanes.free(tx.sql)}`;
  } else if (!pending) {
    await tx.sql`
      update callback_messages
      set status = 'pending', scheduled = 0, endpoint = ${endpoint}, lane = ${lane}
      where id = ${id}`;
    await tx.sql`
      update callback_endpoints
      set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null
      where key = ${endpoint} and disabled_at is not null`;
  }
  if (hasten || !pending) await announceArrivals(tx, deliveryLanes, [[endpoint, lane]]);
  const [{ waits } = { waits: false }] = await tx.sql<{ waits: boolean }[]>`
    select withdrawn_at is not null or ${isPaused(tx.sql, "receiver", tx.sql`key`)} as waits
    from callback_endpoints where key = ${endpoint}`;
  if (waits) return "waiting";
  return pending ? "pending" : "accepted";
};

/** `unknown` for a message of another owner, `removed` for one that retention removed. */
export const redeliver = (
  database: Pick<Database, "transaction">,
  { to, ...whose }: ActedOn & { readonly id: string; readonly to?: MovedTo },
): Promise<Redelivery | "unknown" | "removed"> =>
  database.transaction(async (tx) => {
    const message = await holdMessage(tx, whose);
    if (message !== undefined) return redeliverHeld(tx, message, { to });
    return (await wasPruned(tx, whose.id)) ? "removed" : "unknown";
  });
