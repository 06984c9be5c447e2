/** Reading JSON of the service's paths into typed values, without believing it. */

/** The answer is not of the form that this page knows: reload it, it may be older than the service. */
export class AnswerFormError extends Error {
  override readonly name = "AnswerFormError";
  constructor(what: string) {
    super(
      `${what}: not the form this page knows; reload the page, it may be older than the service`,
    );
  }
}

/** A JSON value with the name it has in messages. */
export class Reader {
  readonly #value: unknown;
  readonly #name: string;

  constructor(value: unknown, name: string) {
    this.#value = value;
    this.#name = name;
  }

  /** A member of an object; absent ones read as null. */
  at(member: string): Reader {
    const name = `${this.#name}.${member}`;
    if (typeof this.#value !== "object" || this.#value === null) throw new AnswerFormError(name);
    const found: unknown = Reflect.get(this.#value, member);
    return new Reader(found ?? null, name);
  }

  text(): string {
    if (typeof this.#value !== "string") throw new AnswerFormError(this.#name);
    return this.#value;
  }

  number(): number {
    if (typeof this.#value !== "number") throw new AnswerFormError(this.#name);
    return this.#value;
  }

  flag(): boolean {
    if (typeof this.#value !== "boolean") throw new AnswerFormError(this.#name);
    return this.#value;
  }

  /** Decimal text as an exact number. */
  amount(): bigint {
    const text = typeof this.#value === "number" ? String(this.#value) : this.text();
    if (!/^-?\d+$/.test(text)) throw new AnswerFormError(this.#name);
    return BigInt(text);
  }

  list<Value>(read: (item: Reader) => Value): readonly Value[] {
    if (!Array.isArray(this.#value)) throw new AnswerFormError(this.#name);
    return this.#value.map((item, index) => read(new Reader(item, `${this.#name}[${index}]`)));
  }

  /** Whatever it is, as text to show. */
  said(): string {
    return typeof this.#value === "string" ? this.#value : JSON.stringify(this.#value);
  }

  /** Null stays null. */
  maybe<Value>(read: (value: Reader) => Value): Value | null {
    return this.#value === null || this.#value === undefined ? null : read(this);
  }

  /** Members of an object, whatever their names. */
  entries<Value>(read: (value: Reader) => Value): readonly (readonly [string, Value])[] {
    if (typeof this.#value !== "object" || this.#value === null) {
      throw new AnswerFormError(this.#name);
    }
    return Object.entries(this.#value).map(
      ([name, value]) => [name, read(new Reader(value, `${this.#name}.${name}`))] as const,
    );
  }
}

/** For `maybe` and `list`. */
export const text = (value: Reader): string => value.text();
export const number = (value: Reader): number => value.number();
/** A time in ISO 8601 as milliseconds. */
export const time = (value: Reader): number => Date.parse(value.text());

/** For `askPath` and `usePath`: `reading("health", (it) => ({ status: it.at("status").text() }))`. */
export const reading =
  <Value>(name: string, read: (value: Reader) => Value) =>
  (body: unknown): Value =>
    read(new Reader(body, name));
