/**
 * The vesting grants (`Timelock` objects) that stand now, and the grant part of their owners' balances.
 *
 * Facts in:  Timelock objects, written and removed
 * Rows out:  timelock_objects, keyed by object; folded into balances
 */
import { TIMELOCK } from "../ledger/contract/names.ts";
import { decodeTimelock } from "../ledger/contract/objects.ts";
import type { ObjectFact } from "../log/fact.ts";
import type { ObjectChange } from "../projections/live-objects.ts";
import {
  clearTimelocks,
  foldTimelocks,
  foldTimelocksAtOnce,
  type TimelockState,
} from "../projections/timelock-objects.ts";
import { timelockObjectsWatermark } from "../projections/watermarks.ts";
import { finalStates } from "./final-states.ts";
import type { Pipeline } from "./pipeline.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

const NAME = "timelock_objects";

const stateOf = (fact: ObjectFact): TimelockState => {
  const { id: _, ...grant } = contentsOf(NAME, fact, decodeTimelock);
  const { version, checkpoint } = fact;
  return { coinType: coinTypeOf(NAME, fact), ...grant, version, checkpoint };
};

/** Keeps the live grants of every coin. */
export const timelockObjectsPipeline: Pipeline<ObjectChange<TimelockState>> = {
  name: NAME,
  facts: [TIMELOCK],
  watermark: timelockObjectsWatermark,
  rows: (facts) => finalStates(facts, stateOf),
  write: foldTimelocks,
  writeAtOnce: foldTimelocksAtOnce,
  reset: clearTimelocks,
};
