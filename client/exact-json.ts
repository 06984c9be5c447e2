/** Strings and numbers; in valid JSON nothing else starts like them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Integers above 2^53 have at least 16 digits. */
const MANY_DIGITS = /\d{16}/;

/**
 * `JSON.parse`, with integers beyond 2^53 as `bigint`. Runtimes before Node 21 hide a number's
 * source text, so long integers are parsed as marked strings everywhere.
 * @throws SyntaxError if the text is not JSON
 */
export const parseExactly = (text: string): unknown => {
  const rounded: unknown = JSON.parse(text);
  if (!MANY_DIGITS.test(text)) return rounded;
  // Random, so that input cannot contain the mark.
  const mark = `${Array.from(globalThis.crypto.getRandomValues(new Uint32Array(4))).join("-")}:`;
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

/** Integers only: 1e400 and the like are not amounts and stay numbers. */
const isLong = (token: string) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
