/** Makes text from other parties safe to show on a terminal or in a log line. */

const LONGEST = 400;

/** Control, format and line-breaking characters, which could rewrite what a terminal shows. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The same characters, less those that JSON escapes itself. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

const escaped = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** Escapes such characters as `\u{1b}` and cuts text that is too long. */
export const shownForeign = (text: string): string =>
  escaped(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Escapes each line of a text with foreign parts; continuation lines are indented. */
export const shownLines = (text: string): string => text.split("\n").map(escaped).join("\n  ");

/** Escapes such characters inside the strings of JSON text, which stays valid. */
export const shownJson = (json: string): string =>
  json.replace(UNSAFE_IN_JSON, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
