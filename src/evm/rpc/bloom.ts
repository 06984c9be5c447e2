/** Block blooms (Ethereum yellow paper, section 4.4.1): which contracts may have logged in a block. */
import { type Hex, keccak256 } from "viem";
import type { Address } from "../contract/fact.ts";

/** Hex digit of the bloom (counted after `0x`) and mask of the bit inside it. */
type Bit = { readonly digit: number; readonly mask: number };

const BLOOM_BITS = 2048;

const bitsOf = (address: Address): readonly Bit[] => {
  const hash = keccak256(address);
  return [0, 1, 2].map((pair) => {
    const bit = Number.parseInt(hash.slice(2 + pair * 4, 6 + pair * 4), 16) % BLOOM_BITS;
    // Bit 0 is the lowest of the last byte.
    return { digit: BLOOM_BITS / 4 - 1 - Math.floor(bit / 4), mask: 1 << (bit % 4) };
  });
};

/** A test whether the contract may have logged in a block of that bloom; false is certain. */
export const mayLog = (address: Address): ((bloom: Hex) => boolean) => {
  const bits = bitsOf(address);
  return (bloom) =>
    bits.every(({ digit, mask }) => (Number.parseInt(bloom[2 + digit] ?? "0", 16) & mask) !== 0);
};

/** Some chains leave the bloom empty whatever is logged: it then says nothing. */
export const isEmptyBloom = (bloom: Hex): boolean => /^0x0*$/.test(bloom);
