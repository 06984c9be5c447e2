/**
 * The addresses that callbacks go to, and whether anything is sent there.
 *
 * An address is disabled by its receiver (an answer of 410): what is pending for it is given up. It is
 * withdrawn by the operator, who no longer names it: what is pending waits until it is named again.
 */
import { texts } from "../database/column-arrays.ts";
import type { Database, Tx } from "../database/connect.ts";
import { announceArrivals } from "../lanes/arrivals.ts";
import type { Fragment } from "../lanes/lanes.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { deliveryLanes } from "./lanes.ts";
import { checkCallbackUrl, type OutboundPolicy } from "./outbound-policy.ts";

/** An address as it stands. */
export type CallbackEndpoint = {
  readonly key: string;
  readonly url: string;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly withdrawnAt: Date | null;
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

/** Advisory lock (of two numbers) between changing addresses and choosing one for a message. */
const ADDRESSES = [7142, 0] as const;

/** Addresses stay as they are until the transaction ends: its first statement, before rows are locked. */
export const holdEndpoints = async ({ sql }: Tx): Promise<void> => {
  await sql`
    select pg_advisory_xact_lock_shared(${ADDRESSES[0]}::int4, ${ADDRESSES[1]}::int4)`.execute();
};

/**
 * Changes addresses in one transaction, during which no address is chosen and no worker records anything.
 * Short: at a start, or on an operator's command.
 */
export const changeEndpoints = <Result>(
  database: Pick<Database, "transaction">,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> =>
  database.transaction(async (tx) => {
    await tx.sql`select pg_advisory_xact_lock(${ADDRESSES[0]}::int4, ${ADDRESSES[1]}::int4)`;
    // A worker locks its lane's row before it writes anything. Behind this lock it holds no other row that
    // this transaction may want, so the two never wait for each other.
    await tx.sql`lock table callback_lanes in exclusive mode`;
    return await work(tx);
  });

/**
 * Registers an address under a key (such as `project:acme`), or changes it, inside `changeEndpoints`.
 * Another address is a new beginning: it is enabled, and failures and attempts count from zero. What
 * is pending goes there at once, in its order; so it does when a withdrawn address is given again.
 *
 * @throws CallbackAddressError (stop) when callbacks may not go there
 */
export const registerEndpoint = async (
  tx: Pick<Tx, "sql">,
  policy: OutboundPolicy,
  { key, url }: { readonly key: string; readonly url: string },
): Promise<void> => putEndpoint(tx, { key, url: checkCallbackUrl(url, policy).href });

/** As `registerEndpoint`, for an address that was checked before. */
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
  if (changed?.is_new === false) await beginAnew({ sql }, key);
};

/** A worker that still has one of the lanes records nothing more; what it was sending is sent again. */
const beginAnew = async ({ sql }: Pick<Tx, "sql">, key: string): Promise<void> => {
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
 * Moves what is pending to where `addresses` says now, inside `changeEndpoints`, with a new schedule of
 * attempts. A worker that still has one of the lanes records nothing more.
 * @param addresses a query for rows (`key_id`, `endpoint`): where the messages of a caller's key go;
 *   those to an endpoint that is not registered stay where they are
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
 * Withdraws every address but those named, inside `changeEndpoints`: nothing more is sent there, and
 * what waits for it waits. An attempt under way is not recorded, and made again when it is named again.
 * @param prefix only those whose key begins so
 * @returns keys of those that were not withdrawn before
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
): Promise<readonly CallbackEndpoint[]> => {
  const rows = await sql<
    {
      key: string;
      url: string;
      disabled_at: string | null;
      disabled_reason: string | null;
      withdrawn_at: string | null;
      withdrawn_reason: string | null;
    }[]
  >`
    select key, url, to_json(disabled_at) #>> '{}' as disabled_at, disabled_reason,
           to_json(withdrawn_at) #>> '{}' as withdrawn_at, withdrawn_reason
    from callback_endpoints where key = ${key} or starts_with(key, ${`${key}:`}) order by key`;
  const date = (text: string | null) => (text === null ? null : new Date(text));
  return rows.map((row) => ({
    key: row.key,
    url: row.url,
    disabledAt: date(row.disabled_at),
    disabledReason: row.disabled_reason,
    withdrawnAt: date(row.withdrawn_at),
    withdrawnReason: row.withdrawn_reason,
  }));
};

/**
 * Sends to a disabled address again. With `resend`, what was not sent because it was disabled goes
 * first, in its old order; without, it stays as it is and can be redelivered one by one.
 *
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
