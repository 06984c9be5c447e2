/** Amounts as Open Cap Format writes them: decimal numbers as text. */

/** Digits after the point that the format allows. */
export const OCF_DIGITS = 10;

/** An amount in the smallest unit as a decimal number, without zeros at its end. */
export const numericOf = (amount: bigint, digits: number): string => {
  if (digits === 0) return amount.toString();
  const text = amount.toString().padStart(digits + 1, "0");
  const fraction = text.slice(-digits).replace(/0+$/, "");
  return `${text.slice(0, -digits)}${fraction === "" ? "" : `.${fraction}`}`;
};

/** A decimal number in units of the tenth digit after the point. */
export const unitsOf = (numeric: string): bigint => {
  const [whole = "", fraction = ""] = numeric.split(".");
  return BigInt(whole + fraction.padEnd(OCF_DIGITS, "0"));
};
