/**
 * Base58 of 32-byte digests, in the Bitcoin alphabet, as Sui prints them.
 *
 * Encoding turns 16-bit words into limbs to the base 58^5 by a table of each word's value in limbs:
 * 16 products of 46 bits sum to less than 2^53, so plain numbers suffice. About ten times faster
 * than the library's long division; digests are the most frequent strings of an indexed checkpoint.
 */

import { Buffer } from "node:buffer";
import { fromBase58 } from "@mysten/bcs";
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

/** 32 bytes have at most this many digits. */
const MOST_DIGITS = 44;

/**
 * Decodes base58 `text` into the 32 bytes at `offset`.
 * @throws Base58Error (stop)
 */
export const readBase58 = (text: string, into: Uint8Array, offset = 0): void => {
  const bytes = text.length > MOST_DIGITS ? undefined : decoded(text);
  if (bytes?.length !== 32) throw new Base58Error(text);
  into.set(bytes, offset);
};

const decoded = (text: string): Uint8Array | undefined => {
  try {
    return fromBase58(text);
  } catch {
    return undefined;
  }
};
