/** Who pays: coins and nonces that belong to one request at a time. */
import type { Sql } from "../../database/connect.ts";
import type { LaneClaim, OpenRequest } from "./lanes.ts";

/**
 * Claims one of the purses for a request whose transaction is not signed yet, or keeps the one it has
 * while that still is one of them; undefined when all are taken.
 * Whatever becomes of the process, the claim stands until the request's transaction is settled
 * (see idle-purses.ts for who finds that out when the request cannot go on).
 */
export const claimPurse = async (
  sql: Sql,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  purses: readonly string[],
): Promise<string | undefined> => {
  const [kept] = await sql<{ purse: string }[]>`
    select purse from ta_purses where request_id = ${request.id}`;
  if (kept !== undefined && purses.includes(kept.purse)) return kept.purse;
  // Spent by somebody else, merged into another one: it pays for nothing any more.
  if (kept !== undefined) {
    await sql`delete from ta_purses where request_id = ${request.id} and purse = ${kept.purse}`;
  }
  const taken = await sql<{ purse: string }[]>`select purse from ta_purses`;
  const busy = new Set(taken.map(({ purse }) => purse));
  for (const purse of purses.filter((each) => !busy.has(each))) {
    // A worker that lost its lane claims nothing more: the request's new worker would not release it.
    const [won] = await sql`
      with lane as (
        select id from ta_lanes where id = ${claim.id} and token = ${claim.token} for share
      )
      insert into ta_purses (purse, request_id) select ${purse}, ${request.id} from lane
      on conflict do nothing returning purse`;
    if (won !== undefined) return purse;
  }
  return undefined;
};
