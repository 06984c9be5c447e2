/** How states change, event by event, as ranges of checkpoints: what a batch begins and what it ends. */
import { STILL_OPEN } from "../projections/ranges.ts";

/** A state that held after the checkpoints [`checkpoint`, `until`). */
export type Ranged<State> = State & { readonly checkpoint: bigint; readonly until: bigint };

/** What an event says of the state of a key: null when there is none any more. */
export type StateChange<State> = {
  readonly key: string;
  readonly checkpoint: bigint;
  readonly state: State | null;
};

/**
 * The ranges that changes, in chain order, begin or end; unchanged ones are left out. The last change of a
 * checkpoint decides: a state that came and went within one leaves no range, and one that is restored by its
 * end continues.
 *
 * @param open the ranges that were open before, by key, as far as the changes name them
 */
export const rangesOf = <State extends object>(
  changes: readonly StateChange<State>[],
  open: ReadonlyMap<string, Ranged<State>>,
  isSame: (one: State, other: State) => boolean,
): readonly Ranged<State>[] => {
  const last = new Map(changes.map((change) => [`${change.checkpoint} ${change.key}`, change]));
  const now = new Map<string, Ranged<State> | undefined>(open);
  const touched: Ranged<State>[] = [];
  // A map has its entries in the order in which their keys came first: checkpoint by checkpoint.
  for (const { key, checkpoint, state } of last.values()) {
    const stood = now.get(key);
    if (stood === undefined ? state === null : state !== null && isSame(stood, state)) continue;
    if (stood !== undefined) touched.push({ ...stood, until: checkpoint });
    now.set(key, state === null ? undefined : { ...state, checkpoint, until: STILL_OPEN });
  }
  for (const [key, range] of now) {
    if (range !== undefined && range !== open.get(key)) touched.push(range);
  }
  return touched;
};
