/** What is wrong with an audit pack, in words that a terminal can be shown. */

/** What a pack is asked: see `Verdict`. */
export type TierName = "authentic" | "consistent" | "complete";

/** One thing that does not hold, with its file. */
export type Failure = { readonly file: string; readonly what: string };

/** Reasons listed; a pack that was packed wrongly has thousands. */
const LISTED = 100;

/** The longest part of foreign text that a reason shows, in characters. */
const LONGEST = 400;

/** A text from elsewhere, bounded, with control and bidirectional characters shown by their numbers. */
export const shown = (text: string): string => {
  const visible = text
    .slice(0, LONGEST + 1)
    .replace(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
    );
  return visible.length > LONGEST ? `${visible.slice(0, LONGEST)}…` : visible;
};

/** Something in a pack does not hold. Stop: do not rely on it. */
export class AuditPackError extends Error {
  override readonly name = "AuditPackError";
  readonly remedy = "stop";
  /** Each thing that does not hold, with its file; never empty, 101 at most, free of control characters. */
  readonly failures: readonly Failure[];
  /** Which of the three tiers is false by it. */
  readonly tier: TierName;

  constructor(failures: readonly Failure[], tier: TierName = "consistent") {
    const listed = failures
      .slice(0, LISTED)
      .map(({ file, what }) => ({ file: shown(file), what: shown(what) }));
    const more = failures.length - LISTED;
    if (more > 0) listed.push({ file: "and", what: `${more} more` });
    super(listed.map(({ file, what }) => `${file}: ${what}`).join("; "));
    this.failures = listed;
    this.tier = tier;
  }
}

/** @throws AuditPackError where there are failures */
export const stopAt = (failures: readonly Failure[], tier?: TierName): void => {
  if (failures.length > 0) throw new AuditPackError(failures, tier);
};

/** @throws AuditPackError */
export const fail = (file: string, what: string, tier?: TierName): never => {
  throw new AuditPackError([{ file, what }], tier);
};
