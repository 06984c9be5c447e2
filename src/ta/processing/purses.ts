/** Who pays: coins and nonces that belong to one request at a time. */
import type { Sql } from "../../database/connect.ts";
import type { Purse } from "../ports/relay.ts";
import type { LaneClaim, OpenRequest } from "./lanes.ts";

/**
 * How long a purse stays out after what it paid for was refused, unless it gets another version before.
 * A coin that two transactions have locked is free again at the end of the epoch: until then it costs
 * one request in this time.
 */
const OUT_MINUTES = 30;

/**
 * Claims one of the purses for a request whose transaction is not signed yet, the one that was used
 * longest ago first, or keeps the one it has while that still is one of them; undefined when all are
 * taken or stay out.
 * Whatever becomes of the process, the claim stands until the request's transaction is settled
 * (see idle-purses.ts for who finds that out when the request cannot go on).
 */
export const claimPurse = async (
  sql: Sql,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  purses: readonly Purse[],
): Promise<string | undefined> => {
  const [kept] = await sql<{ purse: string }[]>`
    select purse from ta_purses where request_id = ${request.id}`;
  if (kept !== undefined && purses.some(({ name }) => name === kept.purse)) return kept.purse;
  // Spent by somebody else, merged into another one: it pays for nothing any more.
  if (kept !== undefined) {
    await sql`delete from ta_purses where request_id = ${request.id} and purse = ${kept.purse}`;
  }
  for (const { name, version } of await freePurses(sql, purses)) {
    // A worker that lost its lane claims nothing more: the request's new worker would not release it.
    const [won] = await sql`
      with lane as (
        select id from ta_lanes where id = ${claim.id} and token = ${claim.token} for share
      ), won as (
        insert into ta_purses (purse, request_id) select ${name}, ${request.id} from lane
        on conflict do nothing returning purse
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
