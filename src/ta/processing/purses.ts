/**
 * Who pays: coins and nonces that belong to one request at a time. Whoever finds none free leaves his
 * lane and is given one: a purse that is released goes to the lane that has waited longest for one of its
 * payer. It is the request's then, whatever becomes of the process that gave it.
 */
import type { Database, Sql, Tx } from "../../database/connect.ts";
import type { Fragment, LaneClaim } from "../../lanes/lanes.ts";
import type { Purse } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { OpenRequest } from "./open-request.ts";

/**
 * How long a purse stays out after what it paid for was refused, unless it gets another version before.
 * A coin that two transactions have locked is free again at the end of the epoch: until then it costs
 * one request in this time.
 */
const OUT_MINUTES = 30;

/**
 * Lanes that wait for purses of one payer and look for them by themselves within `troubleMs`: for those
 * that nobody gives, as a coin that was split off.
 */
const LOOKING = 16;

/** A purse that nothing was signed for in this time is given back. A register is often a moment behind. */
const IDLE_MS = 5_000;

/**
 * Claims one of the purses for a request whose transaction is not signed yet, the one that was used
 * longest ago first, or keeps the one it has while that still is one of them; undefined when all are
 * taken or stay out: its lane waits for one from then on, and is to be left (`untilGiven`).
 * Whatever becomes of the process, the claim stands until the request's transaction is settled
 * (see idle-purses.ts for who finds that out when the request cannot go on).
 */
export const claimPurse = async (
  sql: Sql,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  payer: string,
  purses: readonly Purse[],
): Promise<string | undefined> => {
  const found = await tryPurses(sql, claim, request, payer, purses);
  if (found !== undefined) return found;
  await sql`
    update ta_lanes
    set waits_for = ${payer}, waiting_since = coalesce(waiting_since, now())
    where ${investorLanes.ours(sql, claim)}`;
  // What was released before that was given to nobody, or to another one.
  return await tryPurses(sql, claim, request, payer, purses);
};

const tryPurses = async (
  sql: Sql,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  payer: string,
  purses: readonly Purse[],
): Promise<string | undefined> => {
  const [kept] = await sql<{ purse: string }[]>`
    select purse from ta_purses where request_id = ${request.id}`;
  const still = purses.find(({ name }) => name === kept?.purse);
  if (still !== undefined) {
    // Perhaps it was given just before the lane's row said (again) that it waits for one.
    await sql`
      with served as (
        update ta_lanes set waits_for = null, waiting_since = null
        where ${investorLanes.ours(sql, claim)} and waits_for is not null
      )
      insert into ta_purse_uses (purse, version) values (${still.name}, ${still.version})
      on conflict (purse) do update set version = excluded.version, refused_at = null`;
    return still.name;
  }
  // Spent by somebody else, merged into another one: it pays for nothing any more.
  if (kept !== undefined) {
    await sql`delete from ta_purses where request_id = ${request.id} and purse = ${kept.purse}`;
  }
  for (const { name, version } of await freePurses(sql, purses)) {
    // A worker that lost its lane claims nothing more: the request's new worker would not release it.
    const [won] = await sql`
      with lane as (${investorLanes.held(sql, claim)}), won as (
        insert into ta_purses (purse, payer, request_id)
        select ${name}, ${payer}, ${request.id} from lane
        on conflict do nothing returning purse
      ), served as (
        update ta_lanes set waits_for = null, waiting_since = null
        where id in (select lane.id from lane, won) and waits_for is not null
      )
      insert into ta_purse_uses (purse, version) select purse, ${version} from won
      on conflict (purse) do update
        set used_at = now(), version = excluded.version, refused_at = null
      returning purse`;
    if (won !== undefined) return name;
  }
  return undefined;
};

/** Those that nobody has and that do not stay out, the one that was used longest ago first. */
const freePurses = async (sql: Sql, purses: readonly Purse[]): Promise<readonly Purse[]> => {
  const taken = await sql<{ purse: string }[]>`select purse from ta_purses`;
  const busy = new Set(taken.map(({ purse }) => purse));
  const free = purses.filter(({ name }) => !busy.has(name));
  if (free.length === 0) return free;
  const used = await sql<{ purse: string; version: string | null; out: boolean }[]>`
    select purse, version,
           coalesce(refused_at > now() - ${OUT_MINUTES} * interval '1 minute', false) as out
    from ta_purse_uses where purse in ${sql(free.map(({ name }) => name))} order by used_at`;
  const place = new Map(used.map(({ purse }, index) => [purse, index]));
  const out = new Map(used.flatMap((each) => (each.out ? [[each.purse, each.version]] : [])));
  return free
    .filter(({ name, version }) => !out.has(name) || out.get(name) !== version)
    .toSorted((a, b) => (place.get(a.name) ?? -1) - (place.get(b.name) ?? -1));
};

/**
 * Keeps a request's purse out, because the ledger refused what it was to pay for: others would be
 * refused in their turn. Not one without versions.
 * @returns the purse that stays out
 */
export const keepPurseOut = async (
  sql: Sql,
  request: Pick<OpenRequest, "id">,
): Promise<string | undefined> => {
  const [row] = await sql<{ purse: string }[]>`
    update ta_purse_uses u set refused_at = now() from ta_purses p
    where p.request_id = ${request.id} and u.purse = p.purse and u.version is not null
    returning u.purse`;
  return row?.purse;
};

/**
 * Takes a request's purse from it, and gives it to the lane that has waited longest for one of its payer;
 * to nobody when it stays out. A lane that is missed (its row is locked just now) looks by itself.
 */
export const releasePurse = async (
  { sql }: Pick<Tx, "sql">,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> => {
  await sql`
    with held as (
      select purse, payer from ta_purses where request_id = ${id} for update
    ), next as (
      select l.id, r.id as request_id
      from held
      join ta_lanes l on l.waits_for = held.payer
      cross join lateral (
        select id from ta_requests
        where lane_id = l.id and status in ('QUEUED', 'PENDING') order by sequence limit 1
      ) r
      where not exists (
          select 1 from ta_purse_uses u where u.purse = held.purse and u.refused_at is not null)
        and not exists (select 1 from ta_purses p where p.request_id = r.id)
      order by l.waiting_since limit 1 for update of l skip locked
    ), given as (
      update ta_lanes set waits_for = null, waiting_since = null, ${investorLanes.dueNow(sql)}
      from next where ta_lanes.id = next.id returning next.request_id
    ), handed as (
      update ta_purses p set request_id = given.request_id, claimed_at = now()
      from held, given where p.purse = held.purse
    )
    delete from ta_purses p using held
    where p.purse = held.purse and not exists (select 1 from given)`;
};

/**
 * A request cannot go on for long, as one that waits for finality: what it was given before it signed is
 * for others, and its lane waits for nothing. @throws LaneLostError
 */
export const giveBackPurse = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id" | "txId">,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    if (request.txId === null) await releasePurse(tx, request);
    await stopWaiting(tx, claim);
  });

/**
 * A request comes no further, because its register is behind or the ledger's node does not answer: as
 * `giveBackPurse`, once it has had its purse, or waited for its register, for longer than both take in
 * the ordinary course. What pays for a signed transaction stays. @throws LaneLostError
 */
export const giveBackIdlePurse = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    const [stuck] = await tx.sql`
      select 1 from ta_requests r left join ta_purses p on p.request_id = r.id
      where r.id = ${id}
        and not exists (select 1 from ta_transactions t where t.request_id = r.id)
        -- With neither, the node did not even say how far it is.
        and coalesce(p.claimed_at, r.awaited_since, '-infinity')
          < now() - ${IDLE_MS} * interval '1 ms'`;
    if (stuck === undefined) return;
    await releasePurse(tx, { id });
    await stopWaiting(tx, claim);
  });

/** The lane waits for no purse any more. */
export const stopWaiting = async ({ sql }: Pick<Tx, "sql">, { id }: LaneClaim): Promise<void> => {
  await sql`
    update ta_lanes set waits_for = null, waiting_since = null
    where id = ${id} and waits_for is not null`;
};

/**
 * When a lane that waits for a purse is due, as an interval from when it is left: at once when it was
 * given one meanwhile, else after `troubleMs`, later when more lanes wait.
 */
export const untilGiven = (sql: Sql, troubleMs: number): Fragment => sql`
  case when ta_lanes.waits_for is null then interval '0' else
    ${troubleMs} * interval '1 ms' * (1 + (
      select count(*) from ta_lanes o where o.waits_for = ta_lanes.waits_for) / ${LOOKING}::float8) end`;
