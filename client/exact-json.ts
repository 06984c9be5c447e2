import { isPlain } from "./forms.ts";

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

/** `bigint`: every amount, also a small one; otherwise only integers beyond 2^53 are. */
export type Amounts = "bigint" | undefined;

/** `parseExactly`, with amounts as asked for. @throws SyntaxError if the text is not JSON */
export const parseAmounts = (text: string, amounts: Amounts): unknown => {
  const value = parseExactly(text);
  return amounts === undefined ? value : withAmounts(value);
};

/** The only amounts of the REST interface and its callbacks; a group or an id is none. */
const isAmount = (name: string): boolean => name === "amount";

const withAmounts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withAmounts);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isAmount(name) && Number.isSafeInteger(member) ? BigInt(Number(member)) : withAmounts(member),
    ]),
  );
};
