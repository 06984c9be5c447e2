/**
 * Smallest units as tokens, exact, with all decimals: `1234500n` with 4 is "123.4500".
 * @param decimals 0 to 255
 */
export const inTokens = (units: bigint, decimals: number): string => {
  if (decimals === 0) return units.toString();
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};

/** An amount for people: in tokens, or in the smallest unit where the decimals are unknown. */
export const amountText = (units: bigint, decimals: number | null): string =>
  decimals === null ? `${units} of the smallest unit` : inTokens(units, decimals);
