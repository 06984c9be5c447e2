/** States over ranges of checkpoints: which ones a batch begins and ends. */
import { STILL_OPEN } from "../projections/ranges.ts";

/** A state that held after the checkpoints [`checkpoint`, `until`). */
export type Ranged<State> = State & { readonly checkpoint: bigint; readonly until: bigint };

/** The state of a key after an event; null if none. */
export type StateChange<State> = {
  readonly key: string;
  readonly checkpoint: bigint;
  readonly state: State | null;
};

/**
 * Ranges that changes, in chain order, begin or end. The last change of a checkpoint decides: a state that
 * lasts less than a checkpoint has no range, and one restored by the checkpoint's end continues.
 *
 * @param open ranges open before, by key, of at least the keys that change
 */
export const rangesOf = <State extends object>(
  changes: readonly StateChange<State>[],
  open: ReadonlyMap<string, Ranged<State>>,
  isSame: (one: State, other: State) => boolean,
): readonly Ranged<State>[] => {
  const last = new Map(changes.map((change) => [`${change.checkpoint} ${change.key}`, change]));
  const now = new Map<string, Ranged<State> | undefined>(open);
  const touched: Ranged<State>[] = [];
  // In insertion order, hence by checkpoint.
  for (const { key, checkpoint, state } of last.values()) {
    const old = now.get(key);
    if (old === undefined ? state === null : state !== null && isSame(old, state)) continue;
    if (old !== undefined) touched.push({ ...old, until: checkpoint });
    now.set(key, state === null ? undefined : { ...state, checkpoint, until: STILL_OPEN });
  }
  for (const [key, range] of now) {
    if (range !== undefined && range !== open.get(key)) touched.push(range);
  }
  return touched;
};
