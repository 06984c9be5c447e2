/** Opaque cursors of lists. */
import type { TimedCursor } from "../database/iso-time.ts";
import { limitMember, limitParameter } from "../http/parameters.ts";
import { cursorOf } from "../http/timed-cursor.ts";

export { cursorOf, nameParameter, timedCursor } from "../http/timed-cursor.ts";

const PAGE = { most: 200, usual: 50 };
const ABOUT = { description: `Items of one page, 1 to ${PAGE.most}.` };

export const pageLimit = limitParameter(PAGE).meta(ABOUT);

export const pageLimitInBody = limitMember(PAGE).meta(ABOUT);

/** Makes a page of rows read with `limit + 1`. */
export const pageOf = <Row extends TimedCursor, Item>(
  rows: readonly Row[],
  limit: number,
  itemOf: (row: Row) => Item,
): { readonly items: Item[]; readonly next: string | null } => {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(itemOf),
    next: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  };
};
