/** Text that somebody else wrote, as it may be shown on a terminal or in a log line. */

/** Longer texts are cut. */
const LONGEST = 400;

/** Control and format characters, and what breaks a line: they could rewrite what the terminal shows. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Such characters as `\u{1b}`; what is too long is cut. */
export const shownForeign = (text: string): string => {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return cut.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
};
