/**
 * Canonical JSON as RFC 8785 (JCS) describes it: no space, members sorted by UTF-16 code units,
 * strings and numbers as ECMAScript prints them. Both sides sign and verify these bytes.
 *
 * One thing goes beyond the RFC: a `bigint` is printed in full. Up to 2^53 that is what the RFC gives
 * for the number; beyond it the RFC has no exact form, and amounts must never be rounded.
 */

/** The value has no canonical form; the message names the place inside it. */
export class NotCanonicalError extends Error {
  name = "NotCanonicalError";
  remedy = "stop";
}

/** Deeper than any message of ours, shallow enough for every stack. */
const DEEPEST = 100;

/**
 * The canonical text of a JSON value.
 * @throws NotCanonicalError for what JSON cannot hold: undefined, NaN, infinities, lone surrogates,
 *   functions, class instances, nesting below 100 levels
 */
export const canonicalJson = (value) => write(value, "the value", 0);

const write = (value, path, depth) => {
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
      if (value === null) return "null";
      return Array.isArray(value)
        ? `[${Array.from(value, (item, index) => write(item, `${path}[${index}]`, depth + 1)).join(",")}]`
        : writeObject(value, path, depth);
    default:
      throw new NotCanonicalError(`${path} is ${typeof value}, which JSON does not have`);
  }
};

const writeObject = (value, path, depth) => {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new NotCanonicalError(`${path} is not a plain object`);
  }
  // The default order of `sort` is the one the RFC asks for: by UTF-16 code units.
  const members = Object.keys(value)
    .sort()
    .map((key) => {
      const place = `${path}.${key}`;
      return `${quote(key, place)}:${write(value[key], place, depth + 1)}`;
    });
  return `{${members.join(",")}}`;
};

const quote = (text, path) => {
  if (!text.isWellFormed()) throw new NotCanonicalError(`${path} holds a lone surrogate`);
  return JSON.stringify(text);
};
