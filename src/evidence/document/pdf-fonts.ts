/** The fonts of PDFs, of which only the characters used are embedded, and what each can print. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Font } from "fontkit";
import { shownLines } from "../../logging/foreign-text.ts";
import { once } from "../../waiting/once.ts";
import { FONTS, type FontName } from "./pdf-text.ts";

declare global {
  export namespace PDFKit {
    namespace Mixins {
      interface PDFFont {
        /** The library's types lack fonts that are loaded. */
        registerFont(name: string, src: Font): this;
      }
    }
  }
}

const FILES: Readonly<Record<FontName, string>> = {
  plain: "DejaVuSansCondensed",
  bold: "DejaVuSansCondensed-Bold",
  code: "DejaVuSansMono",
};

/**
 * Characters that stand one after another from left to right, each visible by itself. Others (Arabic, combining
 * marks, spaces of other widths) could reorder, cover or feign their neighbours.
 */
const UPRIGHT =
  /^(?:[[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Georgian}\p{sc=Common}]--[\p{C}\p{DI}\p{M}\p{Z}\u{10000}-\u{10ffff}]]|\u00a0)$/v;

const NOT_ASCII = /[^\u0020-\u007e]/gu;

export type PdfFonts = {
  readonly fonts: ReadonlyMap<FontName, Font>;
  /** Escapes characters that the font lacks, or that do not stand upright, as `\u{…}`. */
  readonly shown: (text: string, font: FontName) => string;
};

/** Loaded once: reading their tables takes longer than a short PDF. */
export const loadFonts = once(async (): Promise<PdfFonts> => {
  const { create } = await import("fontkit");
  const loaded = await Promise.all(
    Object.values(FONTS).map(async (name) => {
      const path = import.meta.resolve(`dejavu-fonts-ttf/ttf/${FILES[name]}.ttf`);
      const font = create(await readFile(fileURLToPath(path)));
      return [name, Object.assign(font, { layout: inARow(font) })] as const;
    }),
  );
  const fonts = new Map(loaded);
  return {
    fonts,
    shown: (text, font) =>
      visible(text).replace(NOT_ASCII, (character) => {
        const code = character.codePointAt(0) ?? 0;
        const isPrinted = UPRIGHT.test(character) && fonts.get(font)?.hasGlyphForCodePoint(code);
        return isPrinted ? character : `\\u{${code.toString(16)}}`;
      }),
  };
});

/**
 * Sets one glyph after another, in place of the font's own layout: upright characters lack no more than ligatures and
 * kerning, and reading the tables of these takes longer than a short PDF. The library's own glyphs keep the text of
 * the PDF before.
 */
const inARow = (font: Font) => {
  const glyphs = new Map<string, { id: number; advanceWidth: number; codePoints: number[] }>();
  const glyphOf = (character: string) => {
    const code = character.codePointAt(0) ?? 0;
    const { id, advanceWidth } = font.glyphForCodePoint(code);
    const glyph = { id, advanceWidth, codePoints: [code] };
    glyphs.set(character, glyph);
    return glyph;
  };
  return (text: string) => {
    const run = Array.from(text, (character) => glyphs.get(character) ?? glyphOf(character));
    const positions = run.map(({ advanceWidth: xAdvance }) => ({
      xAdvance,
      yAdvance: 0,
      xOffset: 0,
      yOffset: 0,
    }));
    return {
      glyphs: run,
      positions,
      // The library scales the positions first.
      get advanceWidth(): number {
        return positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0);
      },
    };
  };
};

/** A single line. Bookmarks are set by the reader, which has characters of all kinds. */
export const visible = (text: string): string => shownLines(text.replaceAll("\n", "\\u{a}"));
