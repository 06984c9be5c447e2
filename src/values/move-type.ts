/**
 * Move types and addresses as canonical text: `0x` and 64 lower-case hex digits,
 * `address::module::Name<…,…>`, no spaces. All stored and compared text is canonical; user input is
 * converted first.
 */

import type { Remedy } from "../waiting/remedy.ts";

/** Limit for user input, several times the network's limit of a type. */
const MAX_LENGTH = 16_384;

/** Nesting limit of type parameters; the network's is 16. */
export const MAX_TYPE_DEPTH = 128;

/** The text is not a Move type or address. Correct the text. */
export class MoveTypeError extends Error {
  override readonly name = "MoveTypeError";
  readonly remedy: Remedy = "stop";

  constructor(what: string, text: string) {
    const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
    super(`${what}: "${shown}"; expected a form like 0x2::coin::Coin<0x2::sui::SUI> or 0x2`);
  }
}

/** A struct type in parts. */
type MoveType = {
  /** Canonical address of the package that first defined it. */
  readonly address: string;
  readonly module: string;
  readonly name: string;
  /** Canonical types of its parameters, in order. */
  readonly parameters: readonly string[];
};

const ADDRESS = /^0x[0-9a-f]{1,64}$/i;

/**
 * Pads an address (`0x`, 1 to 64 hex digits, any case) to 64 lower-case digits.
 * @throws MoveTypeError (stop)
 */
export const canonicalAddress = (text: string): string => {
  if (!ADDRESS.test(text)) throw new MoveTypeError("not an address", text);
  return pad(text.slice(2));
};

/**
 * Makes a type canonical: pads and lower-cases addresses, removes spaces.
 * @throws MoveTypeError (stop) when malformed, too long or nested too deeply
 */
export const canonicalType = (text: string): string => new Parser(text, "0x").whole();

/**
 * The same for a Move `TypeName`, whose addresses have no `0x` and whose event bounds its length.
 * @throws MoveTypeError (stop)
 */
export const canonicalTypeName = (text: string): string => new Parser(text, "bare").whole();

/**
 * Splits a canonical struct type.
 * @throws MoveTypeError (stop) for other types
 */
export const splitType = (canonical: string): MoveType => {
  const open = canonical.indexOf("<");
  const head = open < 0 ? canonical : canonical.slice(0, open);
  const [address, module, name] = head.split("::");
  if (address === undefined || module === undefined || name === undefined) {
    throw new MoveTypeError("not the type of a struct", canonical);
  }
  const parameters = open < 0 ? [] : splitParameters(canonical.slice(open + 1, -1));
  return { address, module, name, parameters };
};

const splitParameters = (text: string): string[] => {
  const parameters: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (character === LESS) depth++;
    else if (character === GREATER) depth--;
    else if (character === COMMA && depth === 0) {
      parameters.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parameters.push(text.slice(start));
  return parameters;
};

const LESS = 0x3c;
const GREATER = 0x3e;
const COMMA = 0x2c;

const PRIMITIVES: ReadonlySet<string> = new Set(
  "bool u8 u16 u32 u64 u128 u256 address signer".split(" "),
);

const pad = (digits: string): string => `0x${digits.toLowerCase().padStart(64, "0")}`;

/** Address of the Sui framework. */
export const FRAMEWORK = pad("2");

/** Recursive-descent parser. Every step consumes text, so the length bounds the work. */
class Parser {
  readonly #text: string;
  readonly #address: RegExp;
  #at = 0;

  constructor(text: string, addresses: "0x" | "bare") {
    if (addresses === "0x" && text.length > MAX_LENGTH) {
      throw new MoveTypeError(`a type of more than ${MAX_LENGTH} characters`, text);
    }
    this.#text = text;
    this.#address = addresses === "0x" ? /0x([0-9a-f]{1,64})(?=::)/iy : /([0-9a-f]{1,64})(?=::)/iy;
  }

  whole(): string {
    const type = this.#type(0);
    if (this.#at < this.#text.length) this.#fail("unexpected text after the type");
    return type;
  }

  #type(depth: number): string {
    if (depth > MAX_TYPE_DEPTH) this.#fail(`a type nested more than ${MAX_TYPE_DEPTH} levels deep`);
    this.#spaces();
    const address = this.#match(this.#address);
    const type = address === undefined ? this.#builtIn(depth) : this.#struct(address, depth);
    this.#spaces();
    return type;
  }

  #struct(address: string, depth: number): string {
    const module = this.#identifier();
    const name = this.#identifier();
    const head = `${pad(address)}::${module}::${name}`;
    return this.#eat("<") ? `${head}<${this.#parameters(depth).join(",")}>` : head;
  }

  #parameters(depth: number): string[] {
    const parameters: string[] = [];
    do parameters.push(this.#type(depth + 1));
    while (this.#eat(","));
    if (!this.#eat(">")) this.#fail("> is missing");
    return parameters;
  }

  #builtIn(depth: number): string {
    const word = this.#match(/([a-z0-9]+)/y) ?? this.#fail("not a type");
    if (word === "vector" && this.#eat("<")) {
      const [element, ...more] = this.#parameters(depth);
      if (element === undefined || more.length > 0) this.#fail("a vector has one type parameter");
      return `vector<${element}>`;
    }
    return PRIMITIVES.has(word) ? word : this.#fail("not a type");
  }

  #identifier(): string {
    return (
      this.#match(/::([A-Za-z_][A-Za-z0-9_]*)/y) ?? this.#fail("a module or type name is missing")
    );
  }

  /** Consumes a match and returns its first group; undefined without one. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[1];
  }

  #eat(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #spaces(): void {
    while (this.#text[this.#at] === " ") this.#at++;
  }

  #fail(what: string): never {
    throw new MoveTypeError(`${what} (at character ${this.#at})`, this.#text);
  }
}
