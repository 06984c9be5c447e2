/** Working papers as a PDF: each paper begins a page and has a bookmark. */
import type { Block, Inline, Paper } from "./document.ts";
import { type Furniture, LEADING, PdfPages } from "./pdf-pages.ts";
import { drawQr, QR_SIZE } from "./pdf-qr.ts";
import { drawTable } from "./pdf-table.ts";
import { FONTS, type FontName } from "./pdf-text.ts";

const TITLE = 16;
const HEADING = 11;
const BODY = 9;
/** Points needed after a heading: a table's head and first rows, or a few lines. */
const BEHIND_HEADING = 62;
const FILL_LINE = 22;
/** Approximate height of a table row, in points. */
const ROW = 20;
/** Share of a page that may stay empty to keep a part whole. */
const SHORT = 0.4;

export const writePdf = async (
  path: string,
  papers: readonly Paper[],
  furniture: Furniture,
): Promise<void> => {
  const pages = await PdfPages.open(path, furniture);
  for (const { number, title, file, isLandscape = false, blocks } of papers) {
    const name = number === "" ? title : `${number} ${title}`;
    pages.begin(name, isLandscape);
    paragraph(pages, "H1", name, { size: TITLE, font: FONTS.bold });
    pages.y += 6;
    for (const [at, block] of blocks.entries()) {
      await drawBlock(pages, block, blocks.slice(at + 1), `${file}.md`);
    }
  }
  await pages.end();
};

const drawBlock = async (
  pages: PdfPages,
  block: Block,
  behind: readonly Block[],
  file: string,
): Promise<void> => {
  switch (block.kind) {
    case "heading": {
      pages.y += 8;
      const needed = HEADING * LEADING + 4 + heightBehind(pages, behind);
      if (pages.room < needed && needed < pages.wholeRoom) pages.next();
      paragraph(pages, "H2", block.text, { size: HEADING, font: FONTS.bold });
      pages.y += 3;
      return;
    }
    case "text":
      paragraph(pages, "P", block.text, { size: BODY, font: FONTS.plain });
      pages.y += 5;
      return;
    case "list":
      for (const item of block.items) {
        paragraph(pages, "P", item, { size: BODY, font: FONTS.plain, bullet: "•" });
        pages.y += 2;
      }
      pages.y += 4;
      return;
    case "table":
      await drawTable(pages, block, file);
      pages.y += 6;
      return;
    case "qr":
      await drawQr(pages, block.text, block.caption);
      pages.y += 6;
      return;
    case "fill":
      for (const label of block.labels) fillLine(pages, label);
      pages.y += 8;
      return;
  }
};

/** Keeps a heading with a short part, or with its sentences and the start of the next block. */
const heightBehind = (pages: PdfPages, behind: readonly Block[]): number => {
  const end = behind.findIndex(({ kind }) => kind === "heading");
  const part = end < 0 ? behind : behind.slice(0, end);
  const heights = part.map((block) => about(pages, block));
  const whole = heights.reduce((sum, height) => sum + height, 0);
  if (whole <= pages.wholeRoom * SHORT) return whole;
  const sentences = part.findIndex(({ kind }) => kind !== "text");
  return heights
    .slice(0, Math.max(0, sentences))
    .reduce((sum, height) => sum + height, BEHIND_HEADING);
};

/** A block's height; tables are estimated. */
const about = (pages: PdfPages, block: Block): number => {
  const text = (inline: Inline) =>
    pages.lines(inline, pages.width, BODY).length * BODY * LEADING + 5;
  switch (block.kind) {
    case "heading":
      return 0;
    case "text":
      return text(block.text);
    case "list":
      return block.items.reduce((sum, item) => sum + text(item), 0);
    case "table":
      return (block.rows.length + 1) * (block.isSheet ? FILL_LINE : ROW);
    case "qr":
      return QR_SIZE + BODY * LEADING;
    case "fill":
      return block.labels.length * FILL_LINE;
  }
};

type Style = { readonly size: number; readonly font: FontName; readonly bullet?: string };

const paragraph = (
  pages: PdfPages,
  tag: string,
  inline: Inline,
  { size, font, bullet }: Style,
): void => {
  const indent = bullet === undefined ? 0 : 12;
  let left = pages.lines(inline, pages.width - indent, size, font);
  let isFirst = true;
  while (left.length > 0) {
    if (pages.room < size * LEADING) pages.next();
    const most = Math.max(1, Math.floor(pages.room / (size * LEADING)));
    // Avoids a lone last line on the next page.
    const fit = left.slice(0, most > 1 && left.length === most + 1 ? most - 1 : most);
    const mark = isFirst && bullet !== undefined ? pages.lines(bullet, 12, size) : [];
    pages
      .tagged(tag, () => {
        pages.draw(mark, pages.left + 2, pages.y, size);
        pages.draw(fit, pages.left + indent, pages.y, size);
      })
      .end();
    pages.y += fit.length * size * LEADING;
    left = left.slice(fit.length);
    isFirst = false;
  }
};

const LABEL_WIDTH = 110;

const fillLine = (pages: PdfPages, label: string): void => {
  if (pages.room < FILL_LINE) pages.next();
  const base = pages.y + FILL_LINE - 6;
  const lines = pages.lines(label, LABEL_WIDTH, BODY);
  if (label !== "") {
    pages.tagged("P", () => pages.draw(lines, pages.left, base - BODY, BODY)).end();
  }
  pages.artifact((doc) => {
    doc
      .lineWidth(0.5)
      .strokeColor("#666666")
      .moveTo(pages.left + LABEL_WIDTH, base + 2)
      .lineTo(pages.left + pages.width, base + 2)
      .stroke();
  });
  pages.y += FILL_LINE;
};
