import { keccak_256 } from "@noble/hashes/sha3.js";

/**
 * EIP-55: address digits in checksum case. Avoids viem, which takes a third of a second to load.
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
