/** One lane per investor of an asset, so that the investor's requests run in order. */
import { lanesIn } from "../../lanes/lanes.ts";

export const investorLanes = lanesIn({
  table: "ta_lanes",
  key: ["asset", "investor_id"],
  channel: "holderbook_ta_requests",
  queue: "transfer-agent",
  whenEmpty: "rest",
});
