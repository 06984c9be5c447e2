/**
 * Base58 of 32-byte digests, in Bitcoin's alphabet as Sui prints them.
 *
 * A number of 16-bit words is turned into one of limbs to the base 58^5 by a table that says what each
 * word is worth in limbs: 16 products of 46 bits add up to less than 2^53, so plain numbers do. Some ten
 * times faster than long division, and digests are the most frequent strings of an indexed checkpoint.
 */

import { Buffer } from "node:buffer";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const ONE = 0x31;
const LIMB_DIGITS = 5;
const LIMB = 58 ** LIMB_DIGITS;
/** 32 bytes are 16 words, and at most 44 digits: 9 limbs. */
const WORDS = 16;
const LIMBS = 9;
const DIGITS = LIMBS * LIMB_DIGITS;

const codes = Buffer.from(ALPHABET, "ascii");

/** What a one in each word is worth: `LIMBS` limbs a word, both most significant first. */
const worth = Float64Array.from({ length: WORDS * LIMBS }, (_, i) => {
  const word = Math.floor(i / LIMBS);
  const limb = i % LIMBS;
  const value = 2n ** BigInt(16 * (WORDS - 1 - word));
  return Number((value / BigInt(LIMB) ** BigInt(LIMBS - 1 - limb)) % BigInt(LIMB));
});

/** Scratch of one call, which nothing interrupts. */
const limbs = new Float64Array(LIMBS);
const digits = Buffer.alloc(DIGITS);

/** Base58 of the 32 bytes of `bytes` that begin at `offset`. */
export const base58 = (bytes: Uint8Array, offset = 0): string => {
  toLimbs(bytes, offset);
  toDigits();
  // Leading zero digits are padding, except one for every leading zero byte.
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
    // Below 2^31: integer division, which is several times faster.
    let rest = (limbs[limb] ?? 0) | 0;
    for (let i = LIMB_DIGITS - 1; i >= 0; i--) {
      const quotient = (rest / 58) | 0;
      digits[limb * LIMB_DIGITS + i] = codes[rest - quotient * 58] ?? 0;
      rest = quotient;
    }
  }
};
