/** `JSON.parse` that never rounds: an integer beyond 2^53 becomes a `bigint`. */
/** A string, or a number; of valid JSON nothing else begins so. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The least integer beyond 2^53 has so many digits. */
const MANY_DIGITS = /\d{16}/;

/**
 * Runtimes before Node 21 do not show the text of a number, so long integers are parsed as marked
 * strings, on every runtime the same way.
 */
export const parseExactly = (text) => {
  const rounded = JSON.parse(text);
  if (!MANY_DIGITS.test(text)) return rounded;
  // Random, so the author of the text cannot know it: no string in it begins so.
  const mark = `${Array.from(globalThis.crypto.getRandomValues(new Uint32Array(4))).join("-")}:`;
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

/** 1e400 and the like are no amounts: they stay the numbers JSON makes of them. */
const isLong = (token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
