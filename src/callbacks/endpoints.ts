/**
 * Addresses of callbacks. An answer of 410 disables one: pending messages are given up. Taking it out
 * of the configuration withdraws it: pending messages wait until it is back.
 */
import { texts } from "../database/column-arrays.ts";
import type { Database, Tx } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { announceArrivals } from "../lanes/arrivals.ts";
import type { Fragment } from "../lanes/lanes.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { deliveryLanes } from "./lanes.ts";
import { checkCallbackUrl, type OutboundPolicy } from "./outbound-policy.ts";

/** Times are ISO 8601. */
export type CallbackEndpoint = {
  readonly key: string;
  readonly url: string;
  readonly disabledAt: string | null;
  readonly disabledReason: string | null;
  readonly withdrawnAt: string | null;
  readonly withdrawnReason: string | null;
};

/** No endpoint has this key: register it before anything is enqueued for it. Stop. */
export class UnknownEndpointError extends Error {
  override readonly name = "UnknownEndpointError";
  readonly remedy: Remedy = "stop";

  constructor(key: string) {
    super(`no callback endpoint is registered as ${key}`);
  }
}

/** Advisory lock: addresses do not change while one is chosen for a message. */
const ADDRESSES = [7142, 0] as const;

/** First statement of a transaction that relies on addresses, before it locks rows. */
export const holdEndpoints = async ({ sql }: Tx): Promise<void> => {
  await sql`
    select pg_advisory_xact_lock_shared(${ADDRESSES[0]}::int4, ${ADDRESSES[1]}::int4)`.execute();
};

/** A short transaction, at a start or by a command. Meanwhile no address is chosen or result recorded. */
export const changeEndpoints = <Result>(
  database: Pick<Database, "transaction">,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> =>
  database.transaction(async (tx) => {
    await tx.sql`select pg_advisory_xact_lock(${ADDRESSES[0]}::int4, ${ADDRESSES[1]}::int4)`;
    // No deadlock: workers lock their lane's row first, and hold no other row while they wait here.
    await tx.sql`lock table callback_lanes in exclusive mode`;
    return await work(tx);
  });

/**
 * Registers an address, or changes it, inside `changeEndpoints`. A new URL is enabled, and failures
 * and attempts count from zero; pending messages go there immediately, in order. The same when a
 * withdrawn address is registered again.
 * @throws CallbackAddressError (stop) when the policy does not allow the URL
 */
export const registerEndpoint = async (
  tx: Pick<Tx, "sql">,
  policy: OutboundPolicy,
  { key, url }: { readonly key: string; readonly url: string },
): Promise<void> => putEndpoint(tx, { key, url: checkCallbackUrl(url, policy).href });

/** The same for a URL that was checked before. */
export const putEndpoint = async (
  { sql }: Pick<Tx, "sql">,
  { key, url }: { readonly key: string; readonly url: string },
): Promise<void> => {
  const [changed] = await sql<{ is_new: boolean }[]>`
    insert into callback_endpoints as e (key, url) values (${key}, ${url})
    on conflict (key) do update
      set url = excluded.url, withdrawn_at = null, withdrawn_reason = null,
          disabled_at = case when e.url = excluded.url then e.disabled_at end,
          disabled_reason = case when e.url = excluded.url then e.disabled_reason end,
          failures = 0, failing_since = null, last_error = null
      where e.url <> excluded.url or e.withdrawn_at is not null
    -- An inserted row, unlike an updated one, was never locked.
    returning xmax = 0 as is_new`;
  if (changed?.is_new === false) await resetEndpoint({ sql }, key);
};

/** Fences off workers that hold one of the lanes: what they are sending is sent again. */
const resetEndpoint = async ({ sql }: Pick<Tx, "sql">, key: string): Promise<void> => {
  await sql`delete from callback_lanes where endpoint = ${key}`;
  await sql`
    update callback_messages set scheduled = 0
    where endpoint = ${key} and status = 'pending' and scheduled > 0`;
  const lanes = await sql<{ lane: string }[]>`
    select distinct lane from callback_messages where endpoint = ${key} and status = 'pending'`;
  await announceLanes({ sql }, key, lanes);
};

const announceLanes = (tx: Pick<Tx, "sql">, key: string, lanes: readonly { lane: string }[]) =>
  announceArrivals(
    tx,
    deliveryLanes,
    lanes.map(({ lane }) => [key, lane]),
  );

/**
 * Moves pending messages to the endpoints of `addresses`, inside `changeEndpoints`, with a new
 * schedule of attempts. Fences off workers that hold one of the lanes.
 * @param addresses a query for rows (`key_id`, `endpoint`); unregistered endpoints are left out
 */
export const movePending = async (tx: Pick<Tx, "sql">, addresses: Fragment): Promise<void> => {
  const touched = await tx.sql<{ endpoint: string; lane: string }[]>`
    with addresses as materialized (${addresses}), misplaced as (
      select m.id, m.lane, m.endpoint as former, e.key as present
      from callback_messages m
      join addresses on addresses.key_id = m.key_id
      join callback_endpoints e on e.key = addresses.endpoint
      where m.status = 'pending' and m.endpoint <> e.key
    ), touched as (
      select distinct endpoint, lane
      from misplaced cross join lateral (values (former), (present)) as both_of (endpoint)
    ), left_alone as (
      delete from callback_lanes l using touched t
      where l.endpoint = t.endpoint and l.lane = t.lane
    ), moved as (
      update callback_messages m set endpoint = p.present, scheduled = 0
      from misplaced p where m.id = p.id
    )
    select endpoint, lane from touched`;
  await announceArrivals(
    tx,
    deliveryLanes,
    touched.map(({ endpoint, lane }) => [endpoint, lane]),
  );
};

/**
 * Withdraws all addresses except `keys`, inside `changeEndpoints`. An attempt in progress is not
 * recorded, and repeated when the address is registered again.
 * @param prefix only addresses whose key begins with it
 * @returns keys that were not withdrawn before
 */
export const withdrawAllBut = async (
  { sql }: Tx,
  keys: readonly string[],
  reason: string,
  prefix = "",
): Promise<readonly string[]> => {
  const withdrawn = await sql<{ key: string }[]>`
    update callback_endpoints set withdrawn_at = now(), withdrawn_reason = ${reason}
    where withdrawn_at is null and starts_with(key, ${prefix})
      and key <> all(${texts(keys)}::text[])
    returning key`;
  const gone = withdrawn.map(({ key }) => key);
  await sql`delete from callback_lanes where endpoint = any(${texts(gone)}::text[])`;
  return gone;
};

/** The address under a key, and those under longer ones (`key:…`); by key. */
export const endpointsUnder = async (
  { sql }: Pick<Tx, "sql">,
  key: string,
): Promise<readonly CallbackEndpoint[]> =>
  await sql<CallbackEndpoint[]>`
    select key, url, ${isoTime(sql, "disabled_at")} as "disabledAt",
           disabled_reason as "disabledReason", ${isoTime(sql, "withdrawn_at")} as "withdrawnAt",
           withdrawn_reason as "withdrawnReason"
    from callback_endpoints where key = ${key} or starts_with(key, ${`${key}:`}) order by key`;

/**
 * @param resend first sends the messages that were given up meanwhile, in their order
 * @throws UnknownEndpointError (stop)
 */
export const enableEndpoint = (
  database: Pick<Database, "transaction">,
  key: string,
  { resend }: { readonly resend: boolean },
): Promise<void> =>
  database.transaction(async (tx) => {
    await holdEndpoints(tx);
    const [found] = await tx.sql`
      update callback_endpoints
      set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null
      where key = ${key} returning key`;
    if (found === undefined) throw new UnknownEndpointError(key);
    if (!resend) return;
    const lanes = await tx.sql<{ lane: string }[]>`
      with pending as (
        update callback_messages set status = 'pending', scheduled = 0
        where endpoint = ${key} and status = 'disabled' returning lane
      )
      select distinct lane from pending`;
    await announceLanes(tx, key, lanes);
  });
