/**
 * Requests for one wallet of an asset run one at a time, across investors: two could see the wallet
 * outside the group and sign two transactions. A claim holds from before the register is read until
 * the request ends, through every crash. Wallet before reservation: no circular waits.
 */
import type { Tx } from "../../database/connect.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { Claimed, OpenRequest } from "./request.ts";

/** False while another request has the wallet. */
export const claimWallet = async (
  { database: { sql }, claim }: Claimed,
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
 * Makes the lane due that has waited longest for the wallet. One whose row is locked is missed; it
 * checks by itself.
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
