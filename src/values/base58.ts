/**
 * Base58 of 32-byte digests, in the Bitcoin alphabet, as Sui prints them.
 *
 * 16-bit words become limbs to the base 58^5 by a table of each word's value in limbs: 16 products
 * of 46 bits sum to less than 2^53, so plain numbers suffice. About ten times faster than long
 * division; digests are the most frequent strings of an indexed checkpoint.
 */

import { Buffer } from "node:buffer";
import type { Remedy } from "../waiting/remedy.ts";

/** The text is not the base58 of 32 bytes. Correct its source. */
export class Base58Error extends Error {
  override readonly name = "Base58Error";
  readonly remedy: Remedy = "stop";

  constructor(text: string) {
    super(`not the base58 of 32 bytes: "${text.slice(0, 100)}"`);
  }
}

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const ONE = 0x31;
const LIMB_DIGITS = 5;
const LIMB = 58 ** LIMB_DIGITS;
/** 32 bytes are 16 words and at most 44 digits: 9 limbs. */
const WORDS = 16;
const LIMBS = 9;
const DIGITS = LIMBS * LIMB_DIGITS;

const codes = Buffer.from(ALPHABET, "ascii");

/** Value of 1 in each word: `LIMBS` limbs per word, most significant first. */
const worth = Float64Array.from({ length: WORDS * LIMBS }, (_, i) => {
  const word = Math.floor(i / LIMBS);
  const limb = i % LIMBS;
  const value = 2n ** BigInt(16 * (WORDS - 1 - word));
  return Number((value / BigInt(LIMB) ** BigInt(LIMBS - 1 - limb)) % BigInt(LIMB));
});

/** Scratch space of a synchronous call. */
const limbs = new Float64Array(LIMBS);
const digits = Buffer.alloc(DIGITS);

/** Base58 of the 32 bytes at `offset`. */
export const base58 = (bytes: Uint8Array, offset = 0): string => {
  toLimbs(bytes, offset);
  toDigits();
  // Leading zero digits are padding, except one per leading zero byte.
  let first = 0;
  while (digits[first] === ONE) first++;
  for (let i = 0; i < 32 && bytes[offset + i] === 0; i++) first--;
  return digits.toString("latin1", first, DIGITS);
};

const toLimbs = (bytes: Uint8Array, offset: number): void => {
  limbs.fill(0);
  for (let word = 0; word < WORDS; word++) {
    const at = offset + 2 * word;
    const value = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
    for (let i = 0; i < LIMBS; i++) {
      limbs[i] = (limbs[i] ?? 0) + value * (worth[word * LIMBS + i] ?? 0);
    }
  }
  for (let i = LIMBS - 1; i > 0; i--) {
    const sum = limbs[i] ?? 0;
    const carry = Math.floor(sum / LIMB);
    limbs[i] = sum - carry * LIMB;
    limbs[i - 1] = (limbs[i - 1] ?? 0) + carry;
  }
};

const toDigits = (): void => {
  for (let limb = 0; limb < LIMBS; limb++) {
    // Below 2^31: integer division is several times faster.
    let rest = (limbs[limb] ?? 0) | 0;
    for (let i = LIMB_DIGITS - 1; i >= 0; i--) {
      const quotient = (rest / 58) | 0;
      digits[limb * LIMB_DIGITS + i] = codes[rest - quotient * 58] ?? 0;
      rest = quotient;
    }
  }
};

/** A three-byte word times four digits: below 2^48. */
const TRIPLE = 2 ** 24;
const GROUP_DIGITS = 4;
/** 33 bytes; the first stays 0. */
const TRIPLES = 11;

/** Digit value by character code; 255 for none. */
const values = Buffer.alloc(128, 255);
codes.forEach((code, value) => {
  values[code] = value;
});
const triples = new Float64Array(TRIPLES);

/**
 * Decodes base58 `text` into the 32 bytes at `offset`.
 * @throws Base58Error (stop) unless the text is canonical; `into` may be changed then
 */
export const readBase58 = (text: string, into: Uint8Array, offset = 0): void => {
  triples.fill(0);
  for (let at = 0; at < text.length; at += GROUP_DIGITS) {
    let group = 0;
    let scale = 1;
    for (let i = at; i < Math.min(at + GROUP_DIGITS, text.length); i++) {
      const value = values[text.charCodeAt(i)] ?? 255;
      if (value === 255) throw new Base58Error(text);
      group = group * 58 + value;
      scale *= 58;
    }
    for (let i = TRIPLES - 1; i >= 0; i--) {
      const sum = (triples[i] ?? 0) * scale + group;
      group = Math.floor(sum / TRIPLE);
      triples[i] = sum - group * TRIPLE;
    }
    if (group > 0) throw new Base58Error(text);
  }
  if ((triples[0] ?? 0) >= 2 ** 16) throw new Base58Error(text);
  for (let i = 0; i < 32; i++) {
    const word = triples[Math.floor((i + 1) / 3)] ?? 0;
    into[offset + i] = word >>> (8 * (2 - ((i + 1) % 3)));
  }
  // Each leading zero digit stands for a leading zero byte.
  let zeros = 0;
  while (zeros < 32 && into[offset + zeros] === 0) zeros++;
  let ones = 0;
  while (text.charCodeAt(ones) === ONE) ones++;
  if (zeros !== ones) throw new Base58Error(text);
};
