/**
 * A set to draw from at random: adding, removing and drawing take constant time, and the order
 * depends on nothing but the additions and removals.
 */
export type Roster = { readonly items: string[]; readonly places: Map<string, number> };

export const emptyRoster = (): Roster => ({ items: [], places: new Map() });

/** Adds an item; nothing happens when it is there. */
export const enlist = (roster: Roster, item: string): void => {
  if (roster.places.has(item)) return;
  roster.places.set(item, roster.items.length);
  roster.items.push(item);
};

/** Removes an item, the last one taking its place; nothing happens when it is not there. */
export const strike = (roster: Roster, item: string): void => {
  const place = roster.places.get(item);
  if (place === undefined) return;
  const last = roster.items.pop();
  roster.places.delete(item);
  if (last === undefined || last === item) return;
  roster.items[place] = last;
  roster.places.set(last, place);
};
