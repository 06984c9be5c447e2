/** Amounts as people read them: exact, from integers and their decimals, never by way of a number. */

/**
 * `1234500n` with 4 decimals is `123.45`, with `fixed` `123.4500`, so that columns line up; without decimals
 * (unknown) the smallest unit as it is.
 */
export const amountText = (units: bigint, decimals: number | null, fixed = false): string => {
  const sign = units < 0n ? "\u2212" : "";
  const digits = (units < 0n ? -units : units).toString();
  if (decimals === null || decimals === 0) return sign + grouped(digits);
  const padded = digits.padStart(decimals + 1, "0");
  const whole = padded.slice(0, -decimals);
  const part = fixed ? padded.slice(-decimals) : padded.slice(-decimals).replace(/0+$/, "");
  return `${sign}${grouped(whole)}${part === "" ? "" : `.${part}`}`;
};

/** With its sign, also when it is more: `+12.5`. */
export const changeText = (units: bigint, decimals: number | null, fixed = false): string =>
  `${units > 0n ? "+" : ""}${amountText(units, decimals, fixed)}`;

const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** A share of a whole as percent with two digits, rounded down; `< 0.01 %` for the smallest. */
export const shareText = (part: bigint, whole: bigint): string => {
  if (whole === 0n) return "\u2013";
  const hundredths = (part * 10_000n) / whole;
  if (hundredths === 0n && part > 0n) return "< 0.01 %";
  return `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, "0")} %`;
};

/** For lengths of bars and places on axes alone, where a pixel is coarser than what is lost. */
export const proportion = (part: bigint, whole: bigint): number =>
  whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;

/** A whole number with its digits grouped. */
export const countText = (count: number | bigint | string): string => grouped(String(count));

/** The largest of some amounts; 0 of none. */
export const mostOf = (amounts: readonly bigint[]): bigint => {
  let most = 0n;
  for (const amount of amounts) if (amount > most) most = amount;
  return most;
};

/** The smaller of two. */
export const leastOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
