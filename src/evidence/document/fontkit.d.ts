/** What is used of the fonts' reader, which has no types of its own. */
declare module "fontkit" {
  export type Glyph = {
    /** 0 is the box of a missing one. */
    readonly id: number;
    /** In the font's units. */
    readonly advanceWidth: number;
  };

  export type Font = {
    hasGlyphForCodePoint(codePoint: number): boolean;
    glyphForCodePoint(codePoint: number): Glyph;
  };

  /** @throws for what is no font */
  export const create: (file: Uint8Array) => Font;
}
