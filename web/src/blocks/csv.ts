/** Rows of a table as CSV (RFC 4180). */
import type { Column } from "./column.ts";

/** A number, or a text that a spreadsheet must not take for a formula. */
const safe = (text: string): string =>
  /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;

const cellText = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

const lineOf = (cells: readonly string[]): string =>
  `${cells.map((cell) => cellText(safe(cell))).join(",")}\r\n`;

/** A heading line, then the rows. */
export const csvOf = (
  headings: readonly string[],
  rows: readonly (readonly (string | null | undefined)[])[],
): string => [headings, ...rows].map((row) => lineOf(row.map((cell) => cell ?? ""))).join("");

/** The columns that have a text, of all these rows. */
export const tableCsv = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string => {
  const texts = columns.flatMap(({ plain, header, unit }) =>
    plain === undefined
      ? []
      : [{ plain, heading: unit === undefined ? header : `${header} (${unit})` }],
  );
  return csvOf(
    texts.map(({ heading }) => heading),
    rows.map((row) => texts.map(({ plain }) => plain(row))),
  );
};

/** As a file to save. */
export const csvFile = (text: string, name: string) => ({
  blob: new Blob([text], { type: "text/csv;charset=utf-8" }),
  name: `${name}.csv`,
});
