import type { Cursor } from "./cursor.ts";

/** Types kept, and the longest kept in bytes: together at most 2 MB. */
const MOST = 1024;
const LONGEST = 512;

/** Canonical texts of struct types, by their BCS (one character a byte). */
const texts = new Map<string, string>();

/**
 * The canonical text of the struct type whose BCS is from `start` to before `end`, as `read` makes it.
 *
 * A ledger has few types and repeats them with every event and object. The text of one that was read
 * before is taken from here, the same string wherever it is kept; what `read` refuses is never here.
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
