/** `JSON.parse` that never rounds. */

/** A string, or a number; in valid JSON nothing else begins so. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The least integer beyond 2^53 has so many digits. */
const MANY_DIGITS = /\d{16}/;

/**
 * `JSON.parse`, with integers beyond 2^53 as `bigint`. Runtimes before Node 21 do not show the text of a number,
 * so long integers are parsed as marked strings, on every runtime the same way.
 *
 * @throws SyntaxError when the text is not JSON
 */
export const parseExactly = (text: string): unknown => {
  const rounded: unknown = JSON.parse(text);
  if (!MANY_DIGITS.test(text)) return rounded;
  // Random, so that no author of a text can put a mark into a string.
  const mark = `${Array.from(globalThis.crypto.getRandomValues(new Uint32Array(4))).join("-")}:`;
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

/** Integers alone: 1e400 and the like are no amounts, and stay numbers. */
const isLong = (token: string) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
