import type { Cursor } from "./cursor.ts";

/** At most 2 MB in all. */
const MOST = 1024;
const LONGEST = 512;

/** Canonical texts of struct types by their BCS (latin1). */
const texts = new Map<string, string>();

/**
 * Canonical text of the struct type at `start`, cached: a ledger has few types and repeats them,
 * and equal strings share memory. `read` validates on a miss.
 */
export const textOfType = (
  cursor: Cursor,
  start: number,
  end: number,
  read: () => string,
): string => {
  if (end - start > LONGEST) return read();
  const bytes = cursor.bytes.toString("latin1", start, end);
  const known = texts.get(bytes);
  if (known !== undefined) return known;
  const text = read();
  if (texts.size === MOST) texts.clear();
  texts.set(bytes, text);
  return text;
};
