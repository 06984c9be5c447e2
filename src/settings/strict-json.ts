/**
 * I-JSON (RFC 7493), which has a canonical form (RFC 8785): UTF-8, no duplicate members, no lone
 * surrogates, no number beyond 2^53. `JSON.parse` keeps the last duplicate and rounds numbers: a
 * signature could cover other content than is read. Takes one pass, in linear time.
 */
import type { JsonValue } from "../../client/index.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** A text is not I-JSON; the message has the reason and the position, and never quotes the text. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
  readonly remedy: Remedy = "stop";
  readonly why: string;
  /** Characters before the fault. */
  readonly at: number;

  constructor(why: string, at: number) {
    super(`the body is not I-JSON: ${why} (at character ${at})`);
    this.why = why;
    this.at = at;
  }
}

/** Far deeper than our requests. */
const DEEPEST = 32;

/** Members and items together: bounds memory; our requests have some fifty. */
const MOST_VALUES = 100_000;

/** Objects have no prototype, so a member may have any name. @throws StrictJsonError (stop) */
export const parseStrictJson = (bytes: Uint8Array): JsonValue => {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError("it is not UTF-8", 0);
  }
  return new Reader(text).whole();
};

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const QUOTE_OR_ESCAPE = /["\\]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON forbids in a string
const CONTROL = /[\u0000-\u001f]/;

class Reader {
  readonly #text: string;
  #at = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): JsonValue {
    this.#space();
    const value = this.#value(0);
    if (this.#at < this.#text.length) this.#fail("something follows the value");
    return value;
  }

  #value(depth: number): JsonValue {
    if (depth > DEEPEST) this.#fail(`it is nested more than ${DEEPEST} deep`);
    this.#values += 1;
    if (this.#values > MOST_VALUES) this.#fail(`it has more than ${MOST_VALUES} values`);
    const value = this.#bare(depth);
    this.#space();
    return value;
  }

  #bare(depth: number): JsonValue {
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): JsonValue {
    // Without a prototype, `__proto__` is a name like any other.
    const members: Record<string, JsonValue> = Object.create(null);
    this.#open();
    if (this.#closes("}")) return members;
    for (;;) {
      if (this.#text[this.#at] !== '"') this.#fail("the name of a member is expected");
      const nameAt = this.#at;
      const name = this.#string();
      if (name in members) this.#fail("a member appears twice in one object", nameAt);
      this.#space();
      this.#expect(":");
      members[name] = this.#value(depth + 1);
      if (this.#closes("}")) return members;
      this.#expect(",");
    }
  }

  #array(depth: number): JsonValue {
    const items: JsonValue[] = [];
    this.#open();
    if (this.#closes("]")) return items;
    for (;;) {
      items.push(this.#value(depth + 1));
      if (this.#closes("]")) return items;
      this.#expect(",");
    }
  }

  #string(): string {
    const from = this.#at;
    const end = this.#endOfString(from + 1);
    const inner = this.#text.slice(from + 1, end);
    if (CONTROL.test(inner)) this.#fail("a string holds a control character", from);
    this.#at = end + 1;
    const text = inner.includes("\\") ? this.#unescaped(from, end) : inner;
    if (!text.isWellFormed()) this.#fail("a string holds a lone surrogate", from);
    return text;
  }

  /** Index of the closing quote. */
  #endOfString(from: number): number {
    QUOTE_OR_ESCAPE.lastIndex = from;
    for (;;) {
      const found = QUOTE_OR_ESCAPE.exec(this.#text);
      if (found === null) return this.#fail("a string does not end");
      if (found[0] === '"') return found.index;
      QUOTE_OR_ESCAPE.lastIndex = found.index + 2;
    }
  }

  #unescaped(from: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(from, end + 1));
    } catch {
      return this.#fail("a string holds an escape that JSON does not have", from);
    }
  }

  #number(): number {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text);
    if (found === null) return this.#fail("a value is expected");
    const [literal] = found;
    const value = Number(literal);
    // From 2^53 on not every integer is a double. The spelling does not matter: the canonical form
    // of 1e16 has all its digits, and must be accepted or refused alike.
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) this.#fail("a number is beyond 2^53");
    this.#at += literal.length;
    return value;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail("a value is expected");
    this.#at += word.length;
    return value;
  }

  #open(): void {
    this.#at += 1;
    this.#space();
  }

  #closes(bracket: string): boolean {
    if (this.#text[this.#at] !== bracket) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string): void {
    if (this.#text[this.#at] !== sign) this.#fail(`"${sign}" is expected`);
    this.#open();
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #fail(why: string, at = this.#at): never {
    throw new StrictJsonError(why, at);
  }
}
