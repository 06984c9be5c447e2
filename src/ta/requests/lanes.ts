/** One lane per investor of an asset, so that the investor's requests run in order. */
import type { Sql, Tx } from "../../database/connect.ts";
import { type LaneClaim, lanesIn } from "../../lanes/lanes.ts";
import { isPaused } from "../../pauses/pauses.ts";

export const investorLanes = lanesIn({
  table: "ta_lanes",
  key: ["asset", "investor_id"],
  channel: "holderbook_ta_requests",
  queue: "transfer-agent",
  whenEmpty: "rest",
});

/** Leaves a lane of a paused asset until it is resumed. */
export const leavePaused = (sql: Sql, claim: LaneClaim): Promise<void> =>
  investorLanes.leavePaused(sql, claim, isPaused(sql, "asset", sql`ta_lanes.asset`));

/** Takes up what waited for an asset; in the transaction that resumes it. */
export const wakeAsset = ({ sql }: Pick<Tx, "sql">, asset: string): Promise<void> =>
  investorLanes.wakeResting(
    sql,
    sql`asset = ${asset} and exists (
      select from ta_requests r where r.lane_id = ta_lanes.id and r.status in ('QUEUED', 'PENDING'))`,
  );

/** Whether the asset ever had requests. */
export const hasRequests = async ({ sql }: Pick<Tx, "sql">, asset: string): Promise<boolean> => {
  const found = await sql`select from ta_lanes where asset = ${asset} limit 1`;
  return found.length > 0;
};

/** Number of the asset's requests that have not ended. */
export const openRequestsOf = async (
  { sql }: { readonly sql: Sql },
  asset: string,
): Promise<number> => {
  const [row] = await sql<{ open: number }[]>`
    select count(*)::int4 as open from ta_requests
    where asset = ${asset} and status in ('QUEUED', 'PENDING')`;
  return row?.open ?? 0;
};
