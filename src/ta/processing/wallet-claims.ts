/**
 * Requests for one wallet of an asset run one at a time, across investors, so that the later one finds the
 * result of the earlier one. Otherwise two of them could see the wallet outside the group and sign two
 * transactions.
 *
 * A claim belongs to the request, not to a process: it stands from before the register is read until the
 * request ends, through every crash. Wallet before reservation: no circular waits.
 */
import type { Sql, Tx } from "../../database/connect.ts";
import type { LaneClaim } from "../../lanes/lanes.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { OpenRequest } from "./request.ts";

/** Claims the request's wallet for it, or finds it claimed already; false while another request has it. */
export const claimWallet = async (
  sql: Sql,
  claim: LaneClaim,
  { id, asset, wallet }: Pick<OpenRequest, "id" | "asset" | "wallet">,
): Promise<boolean> => {
  // A worker that has lost its lane claims nothing.
  const claimed = await sql`
    with lane as (${investorLanes.held(sql, claim)})
    insert into ta_wallet_claims (asset, wallet, request_id)
    select ${asset}, ${wallet}, ${id} from lane
    on conflict (asset, wallet) do update set request_id = excluded.request_id
      where ta_wallet_claims.request_id = excluded.request_id
    returning 1`;
  return claimed.length === 1;
};

/**
 * Releases the wallet, and makes the lane of the request that has waited longest for it due. A lane whose
 * row is locked at that moment is missed; it checks again by itself.
 */
export const releaseWallet = async (
  { sql }: Pick<Tx, "sql">,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> => {
  await sql`
    with released as (
      delete from ta_wallet_claims where request_id = ${id} returning asset, wallet
    )
    update ta_lanes set ${investorLanes.dueNow(sql)} where id = (
      select l.id from released
      join ta_requests r on r.asset = released.asset and r.wallet = released.wallet
        -- Only the first of a lane is PENDING: one that was taken up and waits.
        and r.status = 'PENDING' and r.kind = 'whitelist'
      join ta_lanes l on l.id = r.lane_id and ${investorLanes.free(sql, "l")}
      order by r.sequence limit 1 for update of l skip locked)`;
};
