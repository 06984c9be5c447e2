/** Type guards for untrusted JSON; each value has one canonical form. */

export type Check<T> = (value: unknown) => value is T;

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isNullOr =
  <T>(is: Check<T>): Check<T | null> =>
  (value): value is T | null =>
    value === null || is(value);

export const isFlag = (value: unknown): value is boolean => typeof value === "boolean";

export const isLike =
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
export const isAmount = isBelow(128n);
export const isDecimals = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;

export const isHash = isLike(/^[0-9a-f]{64}$/);
export const isAddress = isLike(/^0x[0-9a-f]{64}$/);
export const isShare = isLike(/^[01]\.\d{12}$/);
/** Printable, so that it cannot inject into a report or terminal. */
export const isChainId = isLike(/^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/);
export const isKeyId = isLike(/^[0-9A-Za-z_-]{1,100}$/);

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
export const isMoment = (value: unknown): value is string =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value)) &&
  new Date(value).toISOString() === value;

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Base58 of 32 bytes, canonical: one leading 1 per leading zero byte. */
export const isDigest = (value: unknown): value is string => {
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

export const isType = (value: unknown): value is string =>
  isAnyType(value) && /^0x[0-9a-f]{64}::\w+::\w+(?:<|$)/.test(value);
