/** Text for the PDF's fonts, and line breaking. */
import { type Inline, partsOf, type Text } from "./document.ts";

export const FONTS = { plain: "plain", bold: "bold", code: "code" } as const;
export type FontName = (typeof FONTS)[keyof typeof FONTS];

export type Run = { readonly text: string; readonly font: FontName; readonly x: number };
export type Line = { readonly runs: readonly Run[]; readonly width: number };

/** What setting a text needs to know of the fonts. */
type Setting = {
  /** Width in points. */
  readonly measure: (text: string, font: FontName, size: number) => number;
  /** The text with escapes in place of characters that the font cannot print. */
  readonly shown: (text: string, font: FontName) => string;
};

type Piece = { readonly text: string; readonly font: FontName };

/** Unseparated pieces, such as `(`, a hash and `)`, stay together. */
type Word = { readonly pieces: Piece[]; readonly hasSpace: boolean };

/** Breaks between words, and inside a word only if it exceeds the line. */
export const linesIn = (
  inline: Inline,
  { width, size, font = FONTS.plain }: { width: number; size: number; font?: FontName },
  setting: Setting,
): readonly Line[] => {
  const { measure } = setting;
  const lines: Line[] = [];
  let runs: Run[] = [];
  let x = 0;
  const end = () => {
    lines.push({ runs, width: x });
    runs = [];
    x = 0;
  };
  const put = ({ text, font: of }: Piece) => {
    const last = runs.at(-1);
    if (last?.font === of) runs[runs.length - 1] = { ...last, text: last.text + text };
    else runs.push({ text, font: of, x });
    x += measure(text, of, size);
  };
  for (const { pieces, hasSpace } of wordsOf(inline, font, setting)) {
    const before = runs.at(-1)?.font;
    const space = hasSpace && before !== undefined ? measure(" ", before, size) : 0;
    const needed = pieces.reduce((sum, { text, font: of }) => sum + measure(text, of, size), 0);
    if (x + space + needed <= width) {
      if (before !== undefined && space > 0) put({ text: " ", font: before });
      for (const piece of pieces) put(piece);
      continue;
    }
    if (x > 0) end();
    for (const { text, font: of } of pieces) {
      // Even lines, rather than a last one of two digits.
      const count = Math.ceil(measure(text, of, size) / width);
      const even = count > 1 ? Math.ceil(text.length / count) : text.length;
      let rest = text;
      while (rest !== "") {
        const most = x === 0 ? rest.slice(0, even) : rest;
        const fits = fitting(most, width - x, (piece) => measure(piece, of, size), x === 0);
        if (fits > 0) put({ text: rest.slice(0, fits), font: of });
        rest = rest.slice(fits);
        if (rest !== "") end();
      }
    }
  }
  if (runs.length > 0 || lines.length === 0) end();
  return lines;
};

const wordsOf = (inline: Inline, font: FontName, setting: Setting): readonly Word[] => {
  const words: Word[] = [];
  let hasSpace = true;
  for (const part of partsOf(inline)) {
    const [shown, own] = shownIn(part, setting, font);
    for (const text of shown.split(/( +)/)) {
      if (text === "") continue;
      if (text.trim() === "") {
        hasSpace = true;
        continue;
      }
      const last = words.at(-1);
      if (hasSpace || last === undefined) words.push({ pieces: [{ text, font: own }], hasSpace });
      else last.pieces.push({ text, font: own });
      hasSpace = false;
    }
  }
  return words;
};

export const shownIn = (
  part: Text,
  { shown }: Setting,
  font: FontName = FONTS.plain,
): readonly [string, FontName] => {
  if (typeof part === "string") return [shown(part, font), font];
  if ("strong" in part) return [shown(part.strong, FONTS.bold), FONTS.bold];
  // Line setting collapses spaces, so escape repeated ones.
  const code = shown(part.inPdf ?? part.code, FONTS.code);
  return [code.replaceAll("  ", " \\u{20}"), FONTS.code];
};

/** How many characters fit; at least one on an empty line. */
const fitting = (
  text: string,
  width: number,
  measure: (text: string) => number,
  isEmpty: boolean,
): number => {
  let [low, high] = [isEmpty ? 1 : 0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(text.slice(0, middle)) <= width) low = middle;
    else high = middle - 1;
  }
  return low;
};
