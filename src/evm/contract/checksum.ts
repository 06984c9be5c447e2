/** The letter case of an EVM address, which tells a mistyped one (EIP-55). */
import { keccak_256 } from "@noble/hashes/sha3.js";

/**
 * The 40 digits of an address in their checksum's letter case.
 *
 * Of our own because every command that knows assets would load all of viem for it, a third of a second.
 *
 * @param digits 40 lower-case hex digits, without `0x`
 */
export const checksumOf = (digits: string): string => {
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString("hex");
  return [...digits]
    .map((digit, index) =>
      Number.parseInt(hash.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit,
    )
    .join("");
};
