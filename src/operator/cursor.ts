/** Opaque cursors of lists. */
import { z } from "zod";
import type { TimedCursor } from "../database/iso-time.ts";
import { limitParameter } from "../http/parameters.ts";
import { cursorOf } from "../http/timed-cursor.ts";

export { cursorOf, nameParameter, timedCursor } from "../http/timed-cursor.ts";

const MOST = 200;
const USUAL = 50;
const LIMIT = { description: `Items of one page, 1 to ${MOST}.` };

export const pageLimit = limitParameter({ most: MOST, usual: USUAL }).meta(LIMIT);

export const pageLimitInBody = z.int().min(1).max(MOST).default(USUAL).meta(LIMIT);

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
