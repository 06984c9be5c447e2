/**
 * Labels as CSV (RFC 4180, UTF-8, a header row, columns in any order):
 *
 *   kind,coin_type,holder_id,wallet,role,label,sealed
 *   holder,0x…::acme::ACME,16,,,Jane Doe,yes
 *   wallet,,,0x4347…,,Cold storage,
 */
import { type GivenLabel, LabelError, labelText, subjectOf } from "./label.ts";
import { type Label, subjectName } from "./read.ts";
import { LABEL_KINDS } from "./tables.ts";

/** Labels of one file. */
export const MOST_IMPORTED = 100_000;

const COLUMNS = ["kind", "coin_type", "holder_id", "wallet", "role", "label", "sealed"] as const;
type Column = (typeof COLUMNS)[number];

const COLUMN_OF = {
  coinType: "coin_type",
  holderId: "holder_id",
  address: "wallet",
  role: "role",
} as const;

/** An error of a file, with its line, from 1. */
export type LineError = { readonly line: number; readonly message: string };

export type ReadLabels = {
  readonly labels: readonly (GivenLabel & { readonly line: number })[];
  readonly errors: readonly LineError[];
};

/** Checks a whole file: all its labels, and all its errors. Coin types are not looked up. */
export const readLabels = (text: string): ReadLabels => {
  const { rows, error } = recordsOf(text.replace(/^\uFEFF/, ""));
  if (error !== undefined) return { labels: [], errors: [error] };
  const [header, ...records] = rows;
  const names = (header?.cells ?? []).map((cell) => cell.trim().toLowerCase());
  const wrong = headerError(names);
  if (wrong !== undefined)
    return { labels: [], errors: [{ line: header?.line ?? 1, message: wrong }] };
  if (records.length > MOST_IMPORTED) {
    const message = `a file has at most ${MOST_IMPORTED} labels: split it`;
    return { labels: [], errors: [{ line: records[MOST_IMPORTED]?.line ?? 1, message }] };
  }
  const labels: (GivenLabel & { readonly line: number })[] = [];
  const errors: LineError[] = [];
  const lineOf = new Map<string, number>();
  for (const { line, cells } of records) {
    try {
      if (cells.length !== names.length) {
        throw new LabelError(`has ${cells.length} cells, and the header ${names.length}`);
      }
      const label = labelOf((column) => (cells[names.indexOf(column)] ?? "").trim());
      const before = lineOf.get(subjectName(label));
      if (before !== undefined) throw new LabelError(`names the same as line ${before}`);
      lineOf.set(subjectName(label), line);
      labels.push({ ...label, line });
    } catch (error) {
      if (!(error instanceof LabelError)) throw error;
      errors.push({ line, message: error.message });
    }
  }
  return { labels, errors };
};

const headerError = (names: readonly string[]): string | undefined => {
  const known: readonly string[] = COLUMNS;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return `the header row names an unknown column; there are ${COLUMNS.join(", ")}`;
  }
  if (new Set(names).size < names.length) return "the header row names a column twice";
  const missing = (["kind", "label"] as const).find((name) => !names.includes(name));
  return missing && `the header row lacks the column ${missing}; there are ${COLUMNS.join(", ")}`;
};

const labelOf = (cell: (column: Column) => string): GivenLabel => {
  const kind = LABEL_KINDS.find((one) => one === cell("kind").toUpperCase());
  if (kind === undefined) {
    throw new LabelError(`kind: must be ${LABEL_KINDS.join(", ").toLowerCase()}`);
  }
  const sealed = cell("sealed").toLowerCase();
  if (!["", "yes", "no"].includes(sealed)) throw new LabelError("sealed: must be yes, no or empty");
  const members = {
    kind,
    coinType: cell("coin_type"),
    holderId: cell("holder_id"),
    address: cell("wallet"),
    role: cell("role"),
  };
  return {
    ...subjectOf(members, (member) => COLUMN_OF[member]),
    text: labelText(cell("label"), "label"),
    isSealed: sealed === "yes",
  };
};

type Records = {
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[];
  readonly error?: LineError;
};

/** A cell, quoted or not, and what ends it. */
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|$)/y;

/** Records of a CSV file without its empty lines. */
const recordsOf = (text: string): Records => {
  const rows: { line: number; cells: string[] }[] = [];
  let line = 1;
  let row = { line, cells: [] as string[] };
  for (let at = 0; at < text.length || row.cells.length > 0; ) {
    CELL.lastIndex = at;
    const found = CELL.exec(text);
    if (found === null) {
      return {
        rows: [],
        error: { line, message: 'a cell with " in it must be quoted, each " doubled' },
      };
    }
    const [whole, quoted, plain = "", end] = found;
    at += whole.length;
    row.cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    if (end === ",") continue;
    if (row.cells.length > 1 || row.cells[0] !== "") rows.push(row);
    row = { line, cells: [] };
  }
  return { rows };
};

/** A cell as RFC 4180 has it. */
export const csvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

export const CSV_HEADER = COLUMNS.join(",");

/** A line that `readLabels` reads; null for a label whose text this process cannot open. */
export const csvLine = ({ kind, coinType, subject, text, isSealed }: Label): string | null => {
  if (text === null) return null;
  const cells: Readonly<Record<Column, string>> = {
    kind: kind.toLowerCase(),
    coin_type: coinType,
    holder_id: kind === "HOLDER" ? subject : "",
    wallet: kind === "WALLET" ? subject : "",
    role: kind === "ROLE" ? subject : "",
    label: text,
    sealed: isSealed ? "yes" : "no",
  };
  return COLUMNS.map((column) => csvCell(cells[column])).join(",");
};
