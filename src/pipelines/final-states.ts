import type { Fact, ObjectFact } from "../log/fact.ts";
import type { ObjectChange } from "../projections/live-objects.ts";

/**
 * What became of every object in a batch: the last word on each, whatever happened in between. An
 * object deleted or wrapped no longer stands; one that was unwrapped stands again. An object created
 * and gone within the batch is reported gone, which changes nothing.
 */
export const finalStates = <State>(
  facts: readonly Fact[],
  stateOf: (fact: ObjectFact) => State,
): readonly ObjectChange<State>[] => {
  const last = new Map<string, Exclude<Fact, { kind: "event" }>>();
  for (const fact of facts) if (fact.kind !== "event") last.set(fact.objectId, fact);
  return [...last].map(([objectId, fact]) => ({
    objectId,
    state: fact.kind === "object" ? stateOf(fact) : null,
  }));
};
