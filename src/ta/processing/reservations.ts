/**
 * Each gas coin and each sender's nonce (a resource) is reserved by one request at a time. A request
 * that finds none free leaves its lane. A released one goes to the lane that has waited longest for
 * one of its payer, also when the releasing process dies.
 *
 * A request with a reservation may be stuck: its asset has left the assets file, or its process hangs.
 * A worker that finds none free looks up transactions that held one for over a minute, through its own
 * node, and releases the settled ones.
 */
import type { Database, Sql, Tx } from "../../database/connect.ts";
import type { Fragment, LaneClaim } from "../../lanes/lanes.ts";
import { type Relay, type Resource, SubmissionRefusedError } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { Claimed, OpenRequest } from "./request.ts";

/**
 * A resource stays out this long after the ledger refused its transaction, unless its version changes.
 * A coin that two transactions locked is free again at the end of the epoch: until then it costs one
 * request in this time.
 */
const OUT_MINUTES = 30;

/** Waiting lanes per payer that check every `troubleMs`, for resources such as a newly split coin. */
const LOOKING = 16;

/** A reservation without a signed transaction is given up after this. A register often lags a moment. */
const UNSIGNED_IDLE_MS = 5_000;

/** Reservations held for longer than this are checked by others; most end in a few seconds. */
const IDLE_SECONDS = 60;

/** Idle reservations checked each time, the oldest first. */
const IDLE_CHECKS = 8;

/**
 * Reserves a resource for an unsigned request, through every crash, until its transaction is settled:
 * the current one while it is among them, else the one used longest ago. Undefined marks the lane as
 * waiting, and the caller leaves it (`resourceDelay`).
 */
export const reserve = async (
  work: Claimed,
  request: Pick<OpenRequest, "id">,
  payer: string,
  resources: readonly Resource[],
): Promise<string | undefined> => {
  const found = await tryToReserve(work, request, payer, resources);
  if (found !== undefined) return found;
  const { database, claim } = work;
  const { sql } = database;
  await sql`
    update ta_lanes
    set waits_for = ${payer}, waiting_since = coalesce(waiting_since, now())
    where ${investorLanes.ours(sql, claim)}`;
  // One that was released before that went to another lane, or to none.
  return await tryToReserve(work, request, payer, resources);
};

const tryToReserve = async (
  { database: { sql }, claim }: Claimed,
  request: Pick<OpenRequest, "id">,
  payer: string,
  resources: readonly Resource[],
): Promise<string | undefined> => {
  const [kept] = await sql<{ resource: string }[]>`
    select resource from ta_reservations where request_id = ${request.id}`;
  const still = resources.find(({ name }) => name === kept?.resource);
  if (still !== undefined) {
    // It may have been given just before the lane's row said (again) that it waits for one.
    await sql`
      with served as (
        update ta_lanes set waits_for = null, waiting_since = null
        where ${investorLanes.ours(sql, claim)} and waits_for is not null
      )
      insert into ta_reservation_uses (resource, version) values (${still.name}, ${still.version})
      on conflict (resource) do update set version = excluded.version, refused_at = null`;
    return still.name;
  }
  // Spent elsewhere, or merged into another coin: it cannot pay any more.
  if (kept !== undefined) {
    await sql`delete from ta_reservations where request_id = ${request.id} and resource = ${kept.resource}`;
  }
  for (const { name, version } of await freeResources(sql, resources)) {
    // A worker that has lost its lane reserves nothing: the request's new worker would not release it.
    const [won] = await sql`
      with lane as (${investorLanes.held(sql, claim)}), won as (
        insert into ta_reservations (resource, payer, request_id)
        select ${name}, ${payer}, ${request.id} from lane
        on conflict do nothing returning resource
      ), served as (
        update ta_lanes set waits_for = null, waiting_since = null
        where id in (select lane.id from lane, won) and waits_for is not null
      )
      insert into ta_reservation_uses (resource, version) select resource, ${version} from won
      on conflict (resource) do update
        set used_at = now(), version = excluded.version, refused_at = null
      returning resource`;
    if (won !== undefined) return name;
  }
  return undefined;
};

/** Those that are not reserved and do not stay out, the one used longest ago first. */
const freeResources = async (
  sql: Sql,
  resources: readonly Resource[],
): Promise<readonly Resource[]> => {
  const taken = await sql<{ resource: string }[]>`select resource from ta_reservations`;
  const busy = new Set(taken.map(({ resource }) => resource));
  const free = resources.filter(({ name }) => !busy.has(name));
  if (free.length === 0) return free;
  const used = await sql<{ resource: string; version: string | null; out: boolean }[]>`
    select resource, version,
           coalesce(refused_at > now() - ${OUT_MINUTES} * interval '1 minute', false) as out
    from ta_reservation_uses where resource in ${sql(free.map(({ name }) => name))} order by used_at`;
  const place = new Map(used.map(({ resource }, index) => [resource, index]));
  const out = new Map(used.flatMap((each) => (each.out ? [[each.resource, each.version]] : [])));
  return free
    .filter(({ name, version }) => !out.has(name) || out.get(name) !== version)
    .toSorted((a, b) => (place.get(a.name) ?? -1) - (place.get(b.name) ?? -1));
};

/**
 * Keeps a request's resource out after a refusal: others would be refused too. Not one without versions.
 * @returns the resource that stays out
 */
export const keepOut = async (
  sql: Sql,
  request: Pick<OpenRequest, "id">,
): Promise<string | undefined> => {
  const [row] = await sql<{ resource: string }[]>`
    update ta_reservation_uses u set refused_at = now() from ta_reservations p
    where p.request_id = ${request.id} and u.resource = p.resource and u.version is not null
    returning u.resource`;
  return row?.resource;
};

/**
 * Its resource goes to the lane that has waited longest for one of its payer, unless it stays out. A
 * lane whose row is locked is missed; it checks by itself.
 */
export const releaseReservation = async (
  { sql }: Pick<Tx, "sql">,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> => {
  await sql`
    with held as (
      select resource, payer from ta_reservations where request_id = ${id} for update
    ), next as (
      select l.id, r.id as request_id
      from held
      join ta_lanes l on l.waits_for = held.payer
      cross join lateral (
        select id from ta_requests
        where lane_id = l.id and status in ('QUEUED', 'PENDING') order by sequence limit 1
      ) r
      where not exists (
          select 1 from ta_reservation_uses u where u.resource = held.resource and u.refused_at is not null)
        and not exists (select 1 from ta_reservations p where p.request_id = r.id)
      order by l.waiting_since limit 1 for update of l skip locked
    ), given as (
      update ta_lanes set waits_for = null, waiting_since = null, ${investorLanes.dueNow(sql)}
      from next where ta_lanes.id = next.id returning next.request_id
    ), handed as (
      update ta_reservations p set request_id = given.request_id, claimed_at = now()
      from held, given where p.resource = held.resource
    )
    delete from ta_reservations p using held
    where p.resource = held.resource and not exists (select 1 from given)`;
};

/** For an unsigned request that may be blocked for long, for example by a block that is not final. @throws LaneLostError */
export const giveUpReservation = (
  { database, claim }: Claimed,
  request: Pick<OpenRequest, "id" | "txId">,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    if (request.txId === null) await releaseReservation(tx, request);
    await stopWaiting(tx, claim);
  });

/**
 * The same for an unsigned request whose register lags or whose node does not answer, once that takes
 * longer than usual. @throws LaneLostError
 */
export const giveUpIdleReservation = (
  { database, claim }: Claimed,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    const [stuck] = await tx.sql`
      select 1 from ta_requests r left join ta_reservations p on p.request_id = r.id
      where r.id = ${id}
        and not exists (select 1 from ta_transactions t where t.request_id = r.id)
        -- With neither, the node did not even say how far it is.
        and coalesce(p.claimed_at, r.awaited_since, '-infinity')
          < now() - ${UNSIGNED_IDLE_MS} * interval '1 ms'`;
    if (stuck === undefined) return;
    await releaseReservation(tx, { id });
    await stopWaiting(tx, claim);
  });

export const stopWaiting = async ({ sql }: Pick<Tx, "sql">, { id }: LaneClaim): Promise<void> => {
  await sql`
    update ta_lanes set waits_for = null, waiting_since = null
    where id = ${id} and waits_for is not null`;
};

/** Interval until a lane that waits for a resource is due: 0 when it was given one, longer when many wait. */
export const resourceDelay = (sql: Sql, troubleMs: number): Fragment => sql`
  case when ta_lanes.waits_for is null then interval '0' else
    ${troubleMs} * interval '1 ms' * (1 + (
      select count(*) from ta_lanes o where o.waits_for = ta_lanes.waits_for) / ${LOOKING}::float8) end`;

type Holder = {
  readonly requestId: string;
  readonly txId: string | null;
  readonly signed: Uint8Array | null;
  readonly refusal: string | null;
};

/**
 * Releases those of `resources` whose transaction is settled, or that have none and no worker.
 * @throws RelayUnavailableError (retry), and what the database throws
 */
export const releaseIdleReservations = async (
  database: Pick<Database, "sql" | "transaction">,
  relay: Pick<Relay, "lookUp" | "submit">,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<void> => {
  if (resources.length === 0) return;
  const { sql } = database;
  const holders = await sql<Holder[]>`
    select p.request_id as "requestId", t.tx_id as "txId", t.signed, t.refusal
    from ta_reservations p left join ta_transactions t on t.request_id = p.request_id
    where p.resource in ${sql(resources.map(({ name }) => name))} and p.claimed_at < now() - ${IDLE_SECONDS} * interval '1 second'
    order by p.claimed_at limit ${IDLE_CHECKS}`;
  let failed: unknown;
  for (const holder of holders) {
    const { requestId, txId, signed } = holder;
    try {
      if (txId === null || signed === null) await releaseUnsigned(database, requestId);
      else if (await isSettled(sql, relay, { ...holder, txId, signed }, signal)) {
        await releaseReservation(database, { id: requestId });
      }
    } catch (error) {
      signal.throwIfAborted();
      // The next one may be settled all the same.
      failed ??= error;
    }
  }
  if (failed !== undefined) throw failed;
};

/** Whether the outcome of a transaction is known; submits it again if not. */
const isSettled = async (
  sql: Sql,
  relay: Pick<Relay, "lookUp" | "submit">,
  {
    requestId,
    txId,
    signed,
    refusal,
  }: Holder & { readonly txId: string; readonly signed: Uint8Array },
  signal: AbortSignal,
): Promise<boolean> => {
  if ((await relay.lookUp(txId, signal)) !== null) return true;
  try {
    // A refused one is never submitted again: its request relies on that.
    if (refusal === null) {
      await relay.submit(signed, signal, true);
      return false;
    }
  } catch (error) {
    if (!(error instanceof SubmissionRefusedError)) throw error;
  }
  // Refused, and no node has it: it will never be executed.
  await keepOut(sql, { id: requestId });
  return true;
};

/** Releases the reservation of a request that signed nothing, unless a worker has its lane. */
const releaseUnsigned = (
  database: Pick<Database, "transaction">,
  requestId: string,
): Promise<void> =>
  database.transaction(async ({ sql }) => {
    // The lane's former worker can write nothing after this, so nothing is signed.
    const lane = sql`select lane_id from ta_requests where id = ${requestId}`;
    if (!(await investorLanes.fence(sql, lane))) return;
    // A statement of its own: it sees what was signed up to the lock on the lane's row.
    const signed = await sql`select 1 from ta_transactions where request_id = ${requestId}`;
    if (signed.length === 0) await releaseReservation({ sql }, { id: requestId });
  });
