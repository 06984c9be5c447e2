/** JSON as a checker must read it. */

/** Strings, and the signs that open, part and close objects and arrays. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/**
 * The first member that an object of a JSON text has twice, or null. Parsers keep one of the two silently: whoever
 * reads the file might see the other.
 * @param text valid JSON
 */
export const memberTwice = (text: string): string | null => {
  const open: (Set<string> | null)[] = [];
  let before = "";
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const names = open.at(-1);
      const name = String(JSON.parse(before));
      if (names?.has(name)) return name;
      names?.add(name);
    }
    before = token;
  }
  return null;
};
