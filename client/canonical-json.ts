/**
 * Canonical JSON (RFC 8785, JCS). Both sides sign and verify these bytes.
 * Beyond the RFC, a `bigint` is printed in full, since amounts must never be rounded; up to 2^53
 * the result is the RFC's.
 */
import { isPlain } from "./forms.ts";

export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The value has no canonical form; the message names the place inside it. Stop: correct the value. */
export class NotCanonicalError extends Error {
  override readonly name = "NotCanonicalError";
  readonly remedy = "stop";
}

/** Deeper than any of our messages, shallow enough for every stack. */
const DEEPEST = 100;

/**
 * The RFC 8785 text of a JSON value.
 * @throws NotCanonicalError for NaN, infinities, lone surrogates, class instances, or more than 100
 * levels
 */
export const canonicalJson = (value: JsonValue): string => write(value, "the value", 0);

/** Takes `unknown` because untyped callers can pass anything. */
const write = (value: unknown, path: string, depth: number): string => {
  if (depth > DEEPEST) throw new NotCanonicalError(`${path} is nested more than ${DEEPEST} deep`);
  switch (typeof value) {
    case "string":
      return quote(value, path);
    case "number":
      if (!Number.isFinite(value)) throw new NotCanonicalError(`${path} is ${value}`);
      return JSON.stringify(value);
    case "boolean":
    case "bigint":
      return value.toString();
    case "object":
      if (isPlain(value)) return writeObject(value, path, depth);
      if (!Array.isArray(value)) return "null";
      return `[${Array.from(value, (item: unknown, index) => write(item, `${path}[${index}]`, depth + 1)).join(",")}]`;
    default:
      throw new NotCanonicalError(`${path} is ${typeof value}, which JSON does not have`);
  }
};

const writeObject = (
  value: Readonly<Record<string, unknown>>,
  path: string,
  depth: number,
): string => {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new NotCanonicalError(`${path} is not a plain object`);
  }
  // `sort` orders by UTF-16 code units, as the RFC requires.
  const members = Object.keys(value)
    .sort()
    .map((key) => {
      const place = `${path}.${key}`;
      return `${quote(key, place)}:${write(value[key], place, depth + 1)}`;
    });
  return `{${members.join(",")}}`;
};

const quote = (text: string, path: string): string => {
  if (!text.isWellFormed()) throw new NotCanonicalError(`${path} holds a lone surrogate`);
  return JSON.stringify(text);
};
