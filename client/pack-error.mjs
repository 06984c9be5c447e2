/** What is wrong with an audit pack, in words that a terminal can be shown. */

/** So many reasons are listed; a pack that was packed wrongly has thousands. */
const LISTED = 100;

/** The longest part of anything foreign that a reason shows. */
const LONGEST = 400;

/** What would move a cursor, break a line, or turn the direction of text is shown by its number. */
export const shown = (text) => {
  const visible = String(text)
    .slice(0, LONGEST + 1)
    .replace(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
    );
  return visible.length > LONGEST ? `${visible.slice(0, LONGEST)}…` : visible;
};

/** What an audit pack says does not hold; `failures` has every reason, with its file. */
export class AuditPackError extends Error {
  name = "AuditPackError";
  remedy = "stop";

  constructor(failures, tier = "consistent") {
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

/** Throws where there are failures. */
export const stopAt = (failures, tier) => {
  if (failures.length > 0) throw new AuditPackError(failures, tier);
};

export const fail = (file, what, tier) => {
  throw new AuditPackError([{ file, what }], tier);
};
