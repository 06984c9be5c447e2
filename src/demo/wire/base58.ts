/** The alphabet of Bitcoin, which the network uses for digests. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Digits are worked out five at a time: 58^5 is the largest power whose products stay exact. */
const GROUP = 58 ** 5;

/** A digest (any bytes) as base58 text. */
export const base58 = (bytes: Uint8Array): string => {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;

  // Little-endian groups of five base58 digits.
  const groups: number[] = [];
  for (let at = zeros; at < bytes.length; at += 1) {
    let carry = bytes[at] ?? 0;
    for (let g = 0; g < groups.length; g += 1) {
      const value = (groups[g] ?? 0) * 256 + carry;
      carry = Math.floor(value / GROUP);
      groups[g] = value - carry * GROUP;
    }
    if (carry > 0) groups.push(carry);
  }

  let digits = "";
  for (const [index, group] of groups.entries()) {
    let rest = group;
    for (let d = 0; d < 5; d += 1) {
      if (index === groups.length - 1 && rest === 0) break;
      digits = ALPHABET.charAt(rest % 58) + digits;
      rest = Math.floor(rest / 58);
    }
  }
  return "1".repeat(zeros) + digits;
};
