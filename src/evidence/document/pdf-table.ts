/** PDF tables: columns fit their amounts, rows stay whole, every page repeats the head. */
import { setImmediate as turn } from "node:timers/promises";
import { type Column, type Inline, partsOf, type Table } from "./document.ts";
import { LEADING, type PdfPages } from "./pdf-pages.ts";
import { FONTS, type Line, shownIn } from "./pdf-text.ts";

const PADDING = 4;
const ABOVE = 3;
const SIZE = 7;
const SMALLEST = 4.5;
/** Least width of a text column. */
const NARROWEST = 30;
/** Points. */
const SHEET_ROW = 24;

/** Rows set per table, except in sheets: memory grows with the pages. */
export const LISTED = 500;

/** Keep at least this many last rows together. */
const TOGETHER = 4;

/** Tables with few columns are narrowed on wide pages, for reading across. */
const FEW = 4;
const NARROW = 0.6;

type Laid = { readonly widths: readonly number[]; readonly size: number; readonly width: number };

/** Fits column widths to content: amounts never wrap, so text columns shrink. */
const layOut = (
  { columns }: Pick<Table, "columns">,
  rows: Table["rows"],
  pages: PdfPages,
): Laid => {
  const shares = columns.reduce((sum, { width }) => sum + width, 0);
  const isNarrow = pages.isLandscape && columns.length <= FEW;
  const whole = pages.width * (isNarrow ? NARROW : 1);
  for (let size = SIZE; ; size -= 0.5) {
    const needed = columns.map(({ isNumber, isWhole, title }, at) =>
      isNumber || isWhole
        ? 2 * PADDING +
          rows.reduce(
            (most, cells) => Math.max(most, widthOf(cells[at] ?? "", size, pages)),
            longestWord(title, size, pages),
          )
        : Math.max(NARROWEST, 2 * PADDING + longestWord(title, size, pages)),
    );
    const asked = columns.map(({ width }, at) =>
      Math.max(needed[at] ?? 0, (whole * width) / shares),
    );
    const over = asked.reduce((sum, width) => sum + width, 0) - whole;
    const slack = asked.map((width, at) => width - (needed[at] ?? 0));
    const allSlack = slack.reduce((sum, width) => sum + width, 0);
    if (over > allSlack && size > SMALLEST) continue;
    const give = allSlack === 0 ? 0 : Math.min(1, Math.max(0, over) / allSlack);
    const widths = asked.map((width, at) => width - (slack[at] ?? 0) * give);
    return { widths, size, width: whole };
  }
};

const widthOf = (cell: Inline, size: number, pages: PdfPages): number =>
  partsOf(cell).reduce((sum, part) => sum + pages.measure(...shownIn(part, pages), size), 0);

const longestWord = (title: string, size: number, pages: PdfPages): number =>
  title.split(" ").reduce((most, word) => Math.max(most, pages.measure(word, FONTS.bold, size)), 0);

/** Rows drawn before the event loop gets a turn: some milliseconds. */
const ROWS_PER_TURN = 20;

export const drawTable = async (pages: PdfPages, of: Table, file: string): Promise<void> => {
  const { columns, isSheet = false, total } = of;
  const listed = isSheet ? of.rows : of.rows.slice(0, of.mostSet ?? LISTED);
  const rows = total === undefined ? listed : [...listed, total];
  const laid = layOut(of, rows, pages);
  const table = pages.tagged("Table");
  const titles = columns.map(({ title }) => title);
  const head = (parent?: PDFKit.PDFStructureElement) => {
    if (titles.some((title) => title !== "")) drawHead(pages, columns, laid, parent);
  };
  const headHeight = heightOf(setRow(pages, titles, laid, true), laid.size);
  if (pages.room < headHeight + 2 * laid.size * LEADING + SHEET_ROW) pages.next();
  head(table);
  const least = isSheet ? SHEET_ROW : 0;
  for (const [at, cells] of rows.entries()) {
    if (at % ROWS_PER_TURN === ROWS_PER_TURN - 1) await turn();
    let left = setRow(pages, cells, laid);
    if (at > 0 && at === rows.length - TOGETHER) {
      const last = rows
        .slice(at)
        .map((row) => Math.max(least, heightOf(setRow(pages, row, laid), laid.size)))
        .reduce((sum, height) => sum + height, 0);
      if (pages.room < last && last < pages.wholeRoom - headHeight) {
        pages.next();
        head();
      }
    }
    while (left.some((lines) => lines.length > 0)) {
      const height = Math.max(least, heightOf(left, laid.size));
      if (height > pages.room && (height <= pages.wholeRoom - headHeight || pages.room < 60)) {
        pages.next();
        head();
      }
      // A row longer than a page continues on the next one.
      const most = Math.floor((pages.room - 2 * ABOVE) / (laid.size * LEADING));
      const now = left.map((lines) => lines.slice(0, most));
      left = left.map((lines) => lines.slice(most));
      const row = pages.tagged("TR", null, table);
      drawRow(pages, columns, laid, now, {
        y: pages.y,
        tag: (content) => void pages.tagged("TD", content, row),
      });
      row.end();
      const top = pages.y;
      pages.y += Math.max(least, heightOf(now, laid.size));
      rules(pages, laid, isSheet ? top : null);
    }
  }
  table.end();
  pages.y += 4;
  note(pages, of, listed.length, file);
};

const note = (pages: PdfPages, { rows, more }: Table, shown: number, file: string): void => {
  const all = more?.all ?? rows.length;
  if (all <= shown) return;
  const at = all > rows.length && more !== undefined ? more.at : file;
  const lines = pages.lines(
    [`${shown} of ${all} rows are listed; all are in `, { code: at }, "."],
    pages.width,
    8,
  );
  if (pages.room < 14) pages.next();
  pages.tagged("P", () => pages.draw(lines, pages.left, pages.y, 8)).end();
  pages.y += 14;
};

const setRow = (
  pages: PdfPages,
  cells: readonly Inline[],
  { widths, size }: Laid,
  isHead = false,
): readonly (readonly Line[])[] =>
  widths.map((width, at) =>
    pages.lines(
      cells[at] ?? "",
      width - 2 * PADDING + 0.01,
      size,
      isHead ? FONTS.bold : FONTS.plain,
    ),
  );

const heightOf = (cells: readonly (readonly Line[])[], size: number): number =>
  2 * ABOVE + size * LEADING * cells.reduce((most, lines) => Math.max(most, lines.length), 1);

/** @param table whose first head this is; repeated heads are not content */
const drawHead = (
  pages: PdfPages,
  columns: readonly Column[],
  laid: Laid,
  table?: PDFKit.PDFStructureElement,
): void => {
  const titles = columns.map(({ title }) => title);
  const cells = setRow(pages, titles, laid, true);
  const height = heightOf(cells, laid.size);
  pages.artifact((doc) => doc.rect(pages.left, pages.y, laid.width, height).fill("#eeeeee"));
  const draw = (tag: (content: () => void) => void) =>
    drawRow(pages, columns, laid, cells, { y: pages.y, tag });
  if (table === undefined) pages.artifact(() => draw((content) => content()));
  else {
    const row = pages.tagged("TR", null, table);
    draw((content) => void pages.tagged("TH", content, row));
    row.end();
  }
  pages.y += height;
};

const drawRow = (
  pages: PdfPages,
  columns: readonly Column[],
  { widths, size }: Laid,
  cells: readonly (readonly Line[])[],
  { y, tag }: { readonly y: number; readonly tag: (content: () => void) => void },
): void => {
  let x = pages.left;
  for (const [at, width] of widths.entries()) {
    const lines = cells[at] ?? [];
    const from = x;
    tag(() => {
      for (const [number, line] of lines.entries()) {
        const shift = columns[at]?.isNumber ? width - PADDING - line.width : PADDING;
        pages.draw([line], from + shift, y + ABOVE + number * size * LEADING, size);
      }
    });
    x += width;
  }
};

/** Rules below rows, and between the cells of a sheet. */
const rules = (pages: PdfPages, { width, widths }: Laid, top: number | null): void =>
  pages.artifact((doc) => {
    const right = pages.left + width;
    doc.lineWidth(0.5).strokeColor("#cccccc");
    doc.moveTo(pages.left, pages.y).lineTo(right, pages.y).stroke();
    if (top === null) return;
    let x = pages.left;
    for (const one of [0, ...widths]) {
      x += one;
      doc.moveTo(x, top).lineTo(x, pages.y).stroke();
    }
  });
