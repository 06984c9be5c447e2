/** Text that somebody else wrote, as it may be shown on a terminal or in a log line. */

/** Longer texts are cut. */
const LONGEST = 400;

/** Control and format characters, and what breaks a line: they could rewrite what the terminal shows. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Those that JSON may have as they are: it escapes the first 32. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

const escaped = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** Such characters as `\u{1b}`; what is too long is cut. */
export const shownForeign = (text: string): string =>
  escaped(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** The same in full, for texts with foreign parts: a line that it breaks goes on indented, and none begins anew. */
export const shownLines = (text: string): string => text.split("\n").map(escaped).join("\n  ");

/** JSON text, as valid as before: between its strings it has none but line breaks, and these stay. */
export const shownJson = (json: string): string =>
  json.replace(UNSAFE_IN_JSON, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
