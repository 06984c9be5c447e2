/** Pages of a PDF: the cursor, and text set to a width. Loads the library on first use. */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { VERSION } from "../../telemetry/version.ts";
import type { Inline } from "./document.ts";
import { loadFonts, type PdfFonts, visible } from "./pdf-fonts.ts";
import { FONTS, type FontName, type Line, linesIn } from "./pdf-text.ts";

const MARGIN = 42;
const TOP = 62;
const BOTTOM = 52;

/** Line height / font size. */
export const LEADING = 1.25;
/** Line top to baseline / font size. */
const ASCENT = 0.8;

export type Furniture = {
  readonly title: string;
  /** Top left of every page. */
  readonly header: Inline;
  /** Creation date, not from the clock, so that the same papers are the same bytes. */
  readonly madeMs: bigint;
};

type Struct = PDFKit.PDFStructureElement;

/** The library's types lack the scope of a table head. */
type StructOptions = NonNullable<Parameters<PDFKit.PDFDocument["struct"]>[1]> & {
  readonly scope?: "Column";
};

export class PdfPages {
  readonly #doc: PDFKit.PDFDocument;
  readonly #furniture: Furniture;
  /** Paper titles by page. */
  readonly #footers: string[] = [];
  #footer = "";
  #isLandscape = false;
  readonly #root: Struct;
  #section: Struct | undefined;
  readonly #widths = new Map<string, number>();
  readonly #written: Promise<void>;
  /** Width of any character of the monospaced font / font size. */
  readonly #codeWidth: number;
  readonly shown: PdfFonts["shown"];
  y = TOP;

  private constructor(
    doc: PDFKit.PDFDocument,
    { fonts, shown }: PdfFonts,
    path: string,
    furniture: Furniture,
  ) {
    this.#doc = doc;
    this.shown = shown;
    for (const [name, font] of fonts) doc.registerFont(name, font);
    this.#codeWidth = doc.font(FONTS.code).fontSize(1).widthOfString("0");
    this.#furniture = furniture;
    this.#written = pipeline(doc, createWriteStream(path));
    this.#written.catch(() => undefined);
    this.#root = doc.struct("Document");
    doc.addStructure(this.#root);
  }

  static async open(path: string, furniture: Furniture): Promise<PdfPages> {
    const [{ default: PDFDocument }, fonts] = await Promise.all([import("pdfkit"), loadFonts()]);
    const doc = new PDFDocument({
      autoFirstPage: false,
      bufferPages: true,
      // Compressed bytes depend on the machine's zlib.
      compress: false,
      pdfVersion: "1.7",
      tagged: true,
      lang: "en",
      displayTitle: true,
      info: {
        Title: furniture.title,
        Creator: `Holderbook ${VERSION}`,
        Producer: `Holderbook ${VERSION}`,
        CreationDate: new Date(Number(furniture.madeMs)),
      },
    });
    return new PdfPages(doc, fonts, path, furniture);
  }

  get left(): number {
    return MARGIN;
  }

  get width(): number {
    return this.#doc.page.width - 2 * MARGIN;
  }

  get isLandscape(): boolean {
    return this.#isLandscape;
  }

  /** Room left on the page. */
  get room(): number {
    return this.#doc.page.height - BOTTOM - this.y;
  }

  /** Room on an empty page. */
  get wholeRoom(): number {
    return this.#doc.page.height - BOTTOM - TOP;
  }

  /** Starts a paper on a new page, with a bookmark. */
  begin(title: string, isLandscape: boolean): void {
    this.#isLandscape = isLandscape;
    this.#footer = title;
    this.next();
    this.#doc.outline.addItem(visible(title));
    this.#section?.end();
    this.#section = this.#doc.struct("Sect", { title: visible(title) });
    this.#root.add(this.#section);
  }

  next(): void {
    this.#doc.addPage({
      size: "A4",
      layout: this.#isLandscape ? "landscape" : "portrait",
      margin: 0,
    });
    this.#footers.push(this.#footer);
    this.y = TOP;
  }

  lines(inline: Inline, width: number, size: number, font: FontName = FONTS.plain) {
    return linesIn(inline, { width, size, font }, this);
  }

  readonly measure = (text: string, font: FontName, size: number): number => {
    if (font === FONTS.code) return text.length * this.#codeWidth * size;
    const key = `${font} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = this.#doc.font(font).fontSize(100).widthOfString(text);
      if (this.#widths.size > 20_000) this.#widths.clear();
      this.#widths.set(key, width);
    }
    return (width * size) / 100;
  };

  /** Draws at a place without moving the cursor. Runs of several fonts share a baseline. */
  draw(lines: readonly Line[], x: number, y: number, size: number): void {
    for (const [at, { runs }] of lines.entries()) {
      const baseline = y + (at * LEADING + ASCENT) * size;
      for (const { text, font, x: from } of runs) {
        this.#doc.font(font).fontSize(size);
        this.#doc.text(text, x + from, baseline, { lineBreak: false, baseline: "alphabetic" });
      }
    }
  }

  /** A rule or filled area, marked as decoration. */
  artifact(drawn: (doc: PDFKit.PDFDocument) => void): void {
    this.#doc.markContent("Artifact", { type: "Layout" });
    this.#doc.save();
    drawn(this.#doc);
    this.#doc.restore();
    this.#doc.endMarkedContent();
  }

  /** A drawing that means something. @param alt what it says, for those who cannot see it */
  figure(alt: string, drawn: (doc: PDFKit.PDFDocument) => void): void {
    const draw = () => {
      this.#doc.save();
      drawn(this.#doc);
      this.#doc.restore();
    };
    const of = this.#doc.struct("Figure", { alt }, [draw]);
    (this.#section ?? this.#root).add(of);
    of.end();
  }

  tagged(tag: string, content: (() => void) | null = null, parent?: Struct): Struct {
    const options: StructOptions = tag === "TH" ? { scope: "Column" } : {};
    const of = this.#doc.struct(tag, options, content === null ? undefined : [content]);
    (parent ?? this.#section ?? this.#root).add(of);
    return of;
  }

  async end(): Promise<void> {
    this.#section?.end();
    this.#root.end();
    const { count } = this.#doc.bufferedPageRange();
    for (let at = 0; at < count; at += 1) {
      this.#doc.switchToPage(at);
      this.#pageFurniture(at, count);
    }
    this.#doc.end();
    await this.#written;
  }

  #pageFurniture(at: number, count: number): void {
    const size = 7;
    const bottom = this.#doc.page.height - BOTTOM + 14;
    const number = `page ${at + 1} of ${count}`;
    const numberWidth = this.measure(number, FONTS.plain, size);
    const [header] = this.lines(this.#furniture.header, this.width - numberWidth - 12, size);
    const [footer] = this.lines(this.#footers[at] ?? "", this.width, size);
    const right = MARGIN + this.width;
    this.artifact((doc) => {
      doc.fillColor("#444444");
      this.draw(header === undefined ? [] : [header], MARGIN, 34, size);
      this.draw(
        [{ runs: [{ text: number, font: FONTS.plain, x: 0 }], width: 0 }],
        right - numberWidth,
        34,
        size,
      );
      this.draw(footer === undefined ? [] : [footer], MARGIN, bottom, size);
      doc.lineWidth(0.5).strokeColor("#aaaaaa");
      for (const y of [46, bottom - 5]) doc.moveTo(MARGIN, y).lineTo(right, y).stroke();
    });
  }
}
