/**
 * The `SharedToken` objects that stand now, and the token part of their owners' balances.
 *
 * Facts in:  SharedToken objects, written and removed
 * Rows out:  shared_token_objects, keyed by object; folded into balances
 */
import { SHARED_TOKEN } from "../ledger/contract/names.ts";
import { decodeSharedToken } from "../ledger/contract/objects.ts";
import type { ObjectFact } from "../log/fact.ts";
import type { ObjectChange } from "../projections/live-objects.ts";
import {
  clearSharedTokens,
  foldSharedTokens,
  foldSharedTokensAtOnce,
  type SharedTokenState,
} from "../projections/shared-token-objects.ts";
import { sharedTokenObjectsWatermark } from "../projections/watermarks.ts";
import { finalStates } from "./final-states.ts";
import type { Pipeline } from "./pipeline.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

const NAME = "shared_token_objects";

const stateOf = (fact: ObjectFact): SharedTokenState => {
  const { owner, balance } = contentsOf(NAME, fact, decodeSharedToken);
  const { version, checkpoint } = fact;
  return { coinType: coinTypeOf(NAME, fact), owner, balance, version, checkpoint };
};

/** Keeps the live tokens of every coin. */
export const sharedTokenObjectsPipeline: Pipeline<ObjectChange<SharedTokenState>> = {
  name: NAME,
  facts: [SHARED_TOKEN],
  watermark: sharedTokenObjectsWatermark,
  rows: (facts) => finalStates(facts, stateOf),
  write: foldSharedTokens,
  writeAtOnce: foldSharedTokensAtOnce,
  reset: clearSharedTokens,
};
