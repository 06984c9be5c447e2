/**
 * A set with constant-time add, remove and random draw; its order depends only on additions and
 * removals.
 */
export type Roster = { readonly items: string[]; readonly places: Map<string, number> };

export const emptyRoster = (): Roster => ({ items: [], places: new Map() });

/** No effect when present. */
export const enlist = (roster: Roster, item: string): void => {
  if (roster.places.has(item)) return;
  roster.places.set(item, roster.items.length);
  roster.items.push(item);
};

/** Replaces the item by the last one; no effect when absent. */
export const strike = (roster: Roster, item: string): void => {
  const place = roster.places.get(item);
  if (place === undefined) return;
  const last = roster.items.pop();
  roster.places.delete(item);
  if (last === undefined || last === item) return;
  roster.items[place] = last;
  roster.places.set(last, place);
};
