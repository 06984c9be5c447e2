/** The lanes of the transfer agent: requests of one investor of an asset are done one after the other. */
import { lanesIn } from "../../lanes/lanes.ts";

/** One lane per investor of an asset. Rows stay: a lane without open requests rests. */
export const investorLanes = lanesIn({
  table: "ta_lanes",
  key: ["asset", "investor_id"],
  channel: "holderbook_ta_requests",
  queue: "transfer-agent",
  whenEmpty: "rest",
});
