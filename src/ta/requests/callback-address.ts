/**
 * A request's result goes to the callback address of the key that signed it, or of the key it was
 * handed over to; without such an address, to the asset's.
 *
 * Keys and the asset may share an address, and results of one investor must reach it in order. So
 * each address of an asset is one endpoint: `ta:<asset>` is the asset's, `ta:<asset>:<digest>` one
 * that only keys have.
 */
import {
  holdEndpoints,
  movePending,
  putEndpoint,
  withdrawAllBut,
} from "../../callbacks/endpoints.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Sql, Tx } from "../../database/connect.ts";
import { taEndpoint } from "./asset.ts";

/** Row to join laterally: the address of the key `id` (SQL), or of its last successor. */
const holderOf = (sql: Sql, id: ReturnType<Sql>) => sql`(
  with recursive line as (
    select id, handed_to, callback_url from api_keys where id = ${id}
    union
    select next.id, next.handed_to, next.callback_url
    from line join api_keys next on next.id = line.handed_to
  )
  select callback_url from line where handed_to is null)`;

/** Endpoint of the key `k`; `asset` is an SQL expression, `a` the asset's own endpoint if any. */
const endpointOfKey = (sql: Sql, asset: ReturnType<Sql>) => sql`
  ${taEndpoint("")} || ${asset} || case
    when k.callback_url is null or k.callback_url = a.url then ''
    else ':' || left(encode(sha256(convert_to(k.callback_url, 'UTF8')), 'hex'), 32) end`;

/** `webhook-id` of the message with a request's result. */
export const resultMessageId = (requestId: string): string => `ta-${requestId}`;

/** Whether it has the form of one: such an id is known only to the request's caller. */
export const isResultId = (id: string | undefined): boolean =>
  id?.startsWith(resultMessageId("")) ?? false;

type ResultAddress = {
  /** Key of a registered endpoint. */
  readonly endpoint: string;
  /** `api_keys.id` of the caller. */
  readonly keyId: string;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Locked until the transaction ends. Undefined without an address, or for an unknown request. */
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
  // Pipelined; the connection runs the second once it has the lock.
  const [, [address]] = await Promise.all([held, found]);
  return address;
};

/** Endpoint for a redelivery: the present address of the request's result. */
export const resultEndpoint = async (tx: Tx, requestId: string): Promise<string | undefined> =>
  (await resultAddress(tx, requestId))?.endpoint;

/**
 * Registers the addresses of these assets' keys, inside `changeEndpoints` and after the assets'
 * own; each was checked when set. A key that was handed over has no address. Returns the endpoints'
 * keys.
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
 * Moves pending messages to their callers' present endpoints, inside `changeEndpoints`, with a new
 * schedule of attempts. Fences off workers that hold one of the lanes.
 */
export const moveResults = ({ sql }: Tx): Promise<void> =>
  movePending(
    { sql },
    sql`
      select asked.id as key_id, ${endpointOfKey(sql, sql`asked.subject`)} as endpoint
      from api_keys asked
      cross join lateral ${holderOf(sql, sql`asked.id`)} k
      left join callback_endpoints a on a.key = ${taEndpoint("")} || asked.subject
      where asked.kind = 'ta'`,
  );

/** Updates endpoints after an asset's keys changed addresses or were handed over. */
export const followKeys = async (tx: Tx, asset: string): Promise<void> => {
  const named = await registerKeyAddresses(tx, [asset]);
  await moveResults(tx);
  await withdrawAllBut(tx, named, "no key has this address any more", `${taEndpoint(asset)}:`);
};
