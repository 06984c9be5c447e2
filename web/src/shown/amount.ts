/** Amounts as people read them: exact, from integers and decimals, never through a floating-point number. */

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

/** Abbreviations of powers of ten for very little room, smallest first. */
const THOUSANDS = [
  ["K", 3],
  ["M", 6],
  ["B", 9],
  ["T", 12],
] as const;

/** How an amount is written. */
export type AmountForm = {
  readonly decimals: number | null;
  /** With its sign, also when it is more. */
  readonly signed: boolean;
  /** With all decimals, for columns. */
  readonly fixed: boolean;
};

const wholeText = (units: bigint, { decimals, signed, fixed }: AmountForm): string =>
  (signed ? changeText : amountText)(units, decimals, fixed);

/** Steps from the whole amount to its shortest form, for amounts of so many decimals. */
export const lastStep = (decimals: number | null): number => (decimals ?? 0) + THOUSANDS.length;

/**
 * An amount in less room: step 0 is exact, each further step has one decimal less, the last ones are in thousands,
 * millions, billions, trillions. Digits are cut off, never rounded up, so that no amount looks larger than it is.
 * `\u2248` marks an inexact amount; one that would show as zero is `< 0.01`.
 */
export const amountIn = (units: bigint, form: AmountForm, step: number): string => {
  const whole = wholeText(units, form);
  if (step <= 0) return whole;
  const decimals = form.decimals ?? 0;
  const magnitude = units < 0n ? -units : units;
  const sign = whole.startsWith("\u2212") ? "\u2212" : whole.startsWith("+") ? "+" : "";
  if (step <= decimals) {
    const places = decimals - step;
    const lost = 10n ** BigInt(step);
    const cut = magnitude / lost;
    const exact = magnitude % lost === 0n;
    if (cut === 0n && !exact) {
      const least = amountText(1n, places);
      return units < 0n ? `> \u2212${least}` : `< ${sign}${least}`;
    }
    const shown = sign + amountText(cut, places, form.fixed);
    return exact ? shown : `\u2248 ${shown}`;
  }
  const [letter, power] = THOUSANDS[Math.min(step - decimals, THOUSANDS.length) - 1] ?? ["T", 12];
  const one = 10n ** BigInt(decimals + power);
  // Smaller ones have room for their whole part.
  if (magnitude < one) return amountIn(units, form, step - 1);
  const tenths = (magnitude * 10n) / one;
  const cut = `${sign}${amountText(tenths, 1)} ${letter}`;
  const shown = (magnitude * 10n) % one === 0n ? cut : `\u2248 ${cut}`;
  // `1,234` is as short as `1.2 K`, and more.
  const longer = amountIn(units, form, step - 1);
  return shown.length < longer.length ? shown : longer;
};

/** Whether a text of `amountIn` leaves something out. */
export const isRounded = (text: string): boolean => /^[\u2248<>]/.test(text);

const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** A share of a whole as percent with two digits, rounded down; `< 0.01 %` for the smallest. */
export const shareText = (part: bigint, whole: bigint): string => {
  if (whole === 0n) return "\u2013";
  const hundredths = (part * 10_000n) / whole;
  if (hundredths === 0n && part > 0n) return "< 0.01 %";
  return `${hundredths / 100n}.${(hundredths % 100n).toString().padStart(2, "0")} %`;
};

type Share = { readonly part: bigint; readonly whole: bigint };

/** Of nothing issued every share is zero. */
const shareIn = (share: Share): Share => (share.whole === 0n ? { part: 0n, whole: 1n } : share);

/** How much a share moved, in points of a percent with two digits: `+1.25`; towards zero. */
export const shareChangeText = (before: Share, after: Share): string => {
  const [one, two] = [shareIn(before), shareIn(after)];
  const change =
    ((two.part * one.whole - one.part * two.whole) * 10_000n) / (one.whole * two.whole);
  return changeText(change, 2, true);
};

/** Only for lengths of bars and positions on axes, where a pixel is coarser than what is lost. */
export const proportion = (part: bigint, whole: bigint): number =>
  whole === 0n ? 0 : Number((part * 1_000_000n) / whole) / 1_000_000;

/** `1,234,567`. */
export const countText = (count: number | bigint | string): string => grouped(String(count));

/** The largest of some amounts; 0 without any. */
export const mostOf = (amounts: readonly bigint[]): bigint => {
  let most = 0n;
  for (const amount of amounts) if (amount > most) most = amount;
  return most;
};

/** The smaller of two. */
export const leastOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
