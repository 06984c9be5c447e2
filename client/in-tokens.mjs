/** Amounts as people read them. */

/** The units as tokens, exact: never by way of a number, which would round. */
export const inTokens = (units, decimals) => {
  if (decimals === 0) return units.toString();
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};
