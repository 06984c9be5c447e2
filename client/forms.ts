/**
 * Checks of untrusted JSON; each value has one canonical form. Types are inferred from the forms.
 */

export type Check<T> = (value: unknown) => value is T;

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isLike =
  (pattern: RegExp): Check<string> =>
  (value): value is string =>
    typeof value === "string" && pattern.test(value);

/** A whole number as decimal text, at most 39 digits. */
export const isDecimal = isLike(/^(0|[1-9]\d{0,38})$/);

/** A whole number below 2^bits. */
export const isBelow =
  (bits: bigint): Check<string> =>
  (value): value is string =>
    isDecimal(value) && BigInt(value) < 2n ** bits;

/** Sums are hashed as 16 bytes. */
const isAmount = isBelow(128n);

/** Standard base64 of exactly `bytes` bytes, canonical. */
export const isBase64 =
  (bytes: number): Check<string> =>
  (value): value is string => {
    if (typeof value !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return false;
    try {
      return atob(value).length === bytes && btoa(atob(value)) === value;
    } catch {
      return false;
    }
  };

/** ISO 8601 UTC with ms, of an existing date: parsers turn 30 February into 2 March. */
const isMoment = (value: unknown): value is string =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value)) &&
  new Date(value).toISOString() === value;

export const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Base58 of 32 bytes, canonical: one leading 1 per leading zero byte. */
const isDigest = (value: unknown): value is string => {
  if (typeof value !== "string" || !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return false;
  let bytes = 0n;
  for (const digit of value) bytes = bytes * 58n + BigInt(BASE58.indexOf(digit));
  const [ones] = /^1*/.exec(value) ?? [""];
  const [zeros] = /^(00)*/.exec(
    bytes === 0n ? "00".repeat(32) : bytes.toString(16).padStart(64, "0"),
  ) ?? [""];
  return bytes < 2n ** 256n && ones.length === zeros.length / 2;
};

const LONGEST_TYPE = 1_024;
/** A type whose parameters, if any, are already replaced by `#`: replaced from the inside out. */
const INNERMOST =
  /(?:0x[0-9a-f]{64}::[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}|(?<![\w:])vector)<#(?:,#)*>|0x[0-9a-f]{64}::[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}(?![\w<])|(?<![\w:#])(?:bool|u8|u16|u32|u64|u128|u256|address|signer)(?![\w<:])/g;

/** Any Move type in canonical form: 64-digit lower-case addresses, no spaces. */
export const isAnyType = (value: unknown): value is string => {
  if (typeof value !== "string" || value.length > LONGEST_TYPE) return false;
  if (!/^[\w:,<>]+$/.test(value)) return false;
  let rest: string = value;
  for (let before = ""; rest !== before; ) {
    before = rest;
    rest = rest.replace(INNERMOST, "#");
  }
  return rest === "#";
};

const isType = (value: unknown): value is string =>
  isAnyType(value) && /^0x[0-9a-f]{64}::\w+::\w+(?:<|$)/.test(value);

/** Limit of foreign text in a message, in characters. */
const LONGEST_SHOWN = 400;

/** Bounds foreign text, and escapes control and bidirectional characters, as a terminal needs. */
export const shown = (text: string): string => {
  const visible = text
    .slice(0, LONGEST_SHOWN + 1)
    .replace(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
    );
  return visible.length > LONGEST_SHOWN ? `${visible.slice(0, LONGEST_SHOWN)}…` : visible;
};

/** Finds the faults of a value, one text each; without any, the value is a T. */
export type Form<T> = {
  (value: unknown, path: string): readonly string[];
  /** Never set: it carries the type. */
  readonly type?: T;
};

export type TypeOf<F> = F extends Form<infer T> ? T : never;

type Shape = Readonly<Record<string, Form<unknown>>>;
export type Members<S extends Shape> = { readonly [Name in keyof S]: TypeOf<S[Name]> };

/** Limit of listed faults per value. */
const LISTED = 100;

/** Whether no faults were found: then the value has the type of its form. */
export const isFormed = <T>(_value: unknown, faults: readonly string[]): _value is T =>
  faults.length === 0;

export const must =
  <T>(holds: Check<T>, what: string): Form<T> =>
  (value, path) =>
    holds(value) ? [] : [`${path} must be ${what}`];

export const nullOr =
  <T>(form: Form<T>): Form<T | null> =>
  (value, path) =>
    value === null ? [] : form(value, path);

const quoted = (name: string) => shown(JSON.stringify(name.slice(0, 100)));

/** An object with all of these members, and no others. */
export const membersOf =
  <S extends Shape>(shape: S): Form<Members<S>> =>
  (value, path) => {
    if (!isPlain(value)) return [`${path} must be an object`];
    const place = (name: string) => (path === "it" ? name : `${path}.${name}`);
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name));
    return [
      ...unknown.slice(0, LISTED).map((name) => `${path} has the unknown member ${quoted(name)}`),
      ...Object.entries(shape).flatMap(([name, check]) =>
        Object.hasOwn(value, name)
          ? check(value[name], place(name))
          : [`${place(name)} is missing`],
      ),
    ];
  };

/** As `membersOf`, with the members in this order. */
export const orderedMembersOf =
  <S extends Shape>(shape: S): Form<Members<S>> =>
  (value, path) => {
    const faults = membersOf(shape)(value, path);
    if (faults.length > 0 || !isPlain(value)) return faults;
    const isOrdered = `${Object.keys(value)}` === `${Object.keys(shape)}`;
    return isOrdered ? faults : [`${path} has its members in another order`];
  };

export const listOf =
  <T>(form: Form<T>, most = Number.POSITIVE_INFINITY): Form<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value)) return [`${path} must be a list`];
    if (value.length > most) return [`${path} has ${value.length} entries, more than ${most}`];
    return value.flatMap((one: unknown, at) => form(one, `${path}[${at}]`)).slice(0, LISTED);
  };

/** An object with free member names of one form. */
export const recordOf =
  <T>(
    isName: (name: string) => boolean,
    form: Form<T>,
    most: number,
  ): Form<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isPlain(value)) return [`${path} must be an object`];
    const entries = Object.entries(value);
    if (entries.length > most) return [`${path} has ${entries.length} members, more than ${most}`];
    const faults: string[] = [];
    for (const [name, one] of entries) {
      const found = isName(name)
        ? form(one, `${path}[${quoted(name)}]`)
        : [`${path} has the unknown member ${quoted(name)}`];
      faults.push(...found);
      if (faults.length > LISTED) break;
    }
    return faults;
  };

export const oneOf = <const T>(...known: readonly T[]): Form<T> =>
  must((value): value is T => known.some((one) => one === value), `one of ${known.join(", ")}`);
export const exactly = <const T extends string | number>(expected: T): Form<T> =>
  must((value): value is T => value === expected, JSON.stringify(expected));
export const like = (pattern: RegExp, what: string) => must(isLike(pattern), what);

/** Visible ASCII and spaces, no backtick, so that a report can quote it. */
export const plainText = (most: number) =>
  must(
    (value): value is string =>
      typeof value === "string" && value.length <= most && /^[ -_a-~]+$/.test(value),
    `1 to ${most} characters of ASCII that can be seen, without \``,
  );

export const flag = must((value): value is boolean => typeof value === "boolean", "true or false");
export const decimal = must(isDecimal, "a whole number, as a text");
export const amount = must(isAmount, "a whole number below 2^128, as a text");
export const hash = like(/^[0-9a-f]{64}$/, "64 lower-case hex digits");
export const address = like(/^0x[0-9a-f]{64}$/, "an address: 0x and 64 lower-case hex digits");
export const digest = must(isDigest, "a digest: the base58 of 32 bytes");
export const moment = must(isMoment, "a time with milliseconds, in UTC");
export const type = must(isType, "a Move type in canonical form");
/** Printable, so that it cannot inject into a report or terminal. */
export const chainId = like(
  /^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/,
  "1 to 100 letters, digits and . _ : -",
);
export const keyId = like(/^[0-9A-Za-z_-]{1,100}$/, "1 to 100 letters, digits, _ and -");
export const publicKey = must(isBase64(32), "base64 of 32 bytes");
export const signature = must(isBase64(64), "base64 of 64 bytes");
export const share = like(/^[01]\.\d{12}$/, "a share with 12 digits after the point");
export const decimals = nullOr(
  must(
    (value): value is number =>
      typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255,
    "a whole number up to 255, or null",
  ),
);
