/**
 * Where the results of a caller's requests go: to the address of the key that signed them, or of the one
 * that it was handed to, or else to the asset's.
 *
 * Keys and the asset may have the same address, and results of one investor must reach it in order. So
 * there is one endpoint per asset and address, whoever has it: `ta:<asset>` is the asset's own, and
 * `ta:<asset>:<digest>` one that only keys have.
 */

import { announceArrivals } from "../../callbacks/arrivals.ts";
import {
  changeEndpoints,
  holdEndpoints,
  putEndpoint,
  withdrawAllBut,
} from "../../callbacks/endpoints.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Database, Sql, Tx } from "../../database/connect.ts";
import { handOverKey } from "../../http/keys.ts";
import { taEndpoint } from "../requests/asset.ts";

/**
 * The key whose address counts for what the key `id` (an SQL expression) asked for, as a row to join
 * laterally: that one, or whom it was handed to in the end.
 */
const holderOf = (sql: Sql, id: ReturnType<Sql>) => sql`(
  with recursive line as (
    select id, handed_to, callback_url from api_keys where id = ${id}
    union
    select next.id, next.handed_to, next.callback_url
    from line join api_keys next on next.id = line.handed_to
  )
  select callback_url from line where handed_to is null)`;

/** Endpoint of the key `k` for an asset (an SQL expression) whose own endpoint, if it has one, is `a`. */
const endpointOfKey = (sql: Sql, asset: ReturnType<Sql>) => sql`
  ${taEndpoint("")} || ${asset} || case
    when k.callback_url is null or k.callback_url = a.url then ''
    else ':' || left(encode(sha256(convert_to(k.callback_url, 'UTF8')), 'hex'), 32) end`;

/** Where the result of a request goes. */
export type ResultAddress = {
  /** Key of a registered endpoint. */
  readonly endpoint: string;
  /** `api_keys.id` of the caller. */
  readonly keyId: string;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Where the result of a request goes, and until the transaction ends nobody changes that; undefined
 * without any address, or without such a request.
 */
export const resultAddress = async (
  tx: Tx,
  requestId: string,
): Promise<ResultAddress | undefined> => {
  if (!UUID.test(requestId)) return undefined;
  const { sql } = tx;
  const held = holdEndpoints(tx);
  const found = sql<ResultAddress[]>`
    select e.key as endpoint, r.key_id as "keyId"
    from ta_requests r
    left join lateral ${holderOf(sql, sql`r.key_id`)} k on true
    left join callback_endpoints a on a.key = ${taEndpoint("")} || r.asset
    join callback_endpoints e on e.key = ${endpointOfKey(sql, sql`r.asset`)}
    where r.id = ${requestId}`;
  // Both leave together; the connection runs the second once it has the lock.
  const [, [address]] = await Promise.all([held, found]);
  return address;
};

/** For `redeliver`: the message about this request goes where its result would go now. */
export const resultEndpoint = async (tx: Tx, requestId: string): Promise<string | undefined> =>
  (await resultAddress(tx, requestId))?.endpoint;

/**
 * Registers the addresses that keys of these assets have, inside `changeEndpoints` and after the
 * assets' own; they were checked when they were given. A key that was handed over has none any more.
 * Returns the keys of their endpoints.
 */
export const registerKeyAddresses = async (
  tx: Tx,
  assets: readonly string[],
): Promise<readonly string[]> => {
  const { sql } = tx;
  const addresses = await sql<{ key: string; url: string }[]>`
    select distinct ${endpointOfKey(sql, sql`k.subject`)} as key, k.callback_url as url
    from api_keys k left join callback_endpoints a on a.key = ${taEndpoint("")} || k.subject
    where k.kind = 'ta' and k.callback_url is not null and k.handed_to is null
      and k.subject = any(${texts(assets)}::text[])`;
  for (const address of addresses) await putEndpoint(tx, address);
  return addresses.map(({ key }) => key);
};

/**
 * Moves what waits to where its caller's results go now, inside `changeEndpoints`, with a new schedule
 * of attempts. A worker that still has one of the lanes records nothing more.
 */
export const moveResults = async (tx: Tx): Promise<void> => {
  const { sql } = tx;
  const touched = await sql<{ endpoint: string; lane: string }[]>`
    with addresses as materialized (
      select asked.id as key_id, ${endpointOfKey(sql, sql`asked.subject`)} as endpoint
      from api_keys asked
      cross join lateral ${holderOf(sql, sql`asked.id`)} k
      left join callback_endpoints a on a.key = ${taEndpoint("")} || asked.subject
      where asked.kind = 'ta'
    ), misplaced as (
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
  await announceArrivals(tx, touched);
};

/** After keys of an asset were given other addresses, or handed over: registers, withdraws and moves what follows. */
export const followKeys = async (tx: Tx, asset: string): Promise<void> => {
  const named = await registerKeyAddresses(tx, [asset]);
  await moveResults(tx);
  await withdrawAllBut(tx, named, "no key has this address any more", `${taEndpoint(asset)}:`);
};

/**
 * Gives a key of the transfer agent another address of its own, or none (null): then its results go to
 * the asset's. What waits goes where it is said now. Does nothing when no such key has this id.
 *
 * @param url as `checkCallbackUrl` returns it
 */
export const changeCallbackUrl = (
  database: Pick<Database, "transaction">,
  keyId: string,
  url: string | null,
): Promise<void> =>
  changeEndpoints(database, async (tx) => {
    const [key] = await tx.sql<{ asset: string }[]>`
      update api_keys set callback_url = ${url} where id = ${keyId} and kind = 'ta'
      returning subject as asset`;
    if (key !== undefined) await followKeys(tx, key.asset);
  });

/**
 * `handOverKey`, and the results of what the key asked for go to where those of the other one go, also
 * those that wait.
 */
export const handOver = (
  database: Pick<Database, "transaction">,
  keys: { readonly id: string; readonly to: string },
): Promise<boolean> =>
  changeEndpoints(database, async (tx) => {
    const asset = await handOverKey(tx, keys);
    if (asset !== null) await followKeys(tx, asset);
    return asset !== null;
  });
