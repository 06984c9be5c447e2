/** Working papers as they are written once, whatever they are rendered to: Markdown and PDF. */

/** Plain text, a strong one, or a hash, an address, a text of others, each shown as it is. */
export type Text =
  | string
  | { readonly strong: string }
  /** `inPdf` replaces the text in the PDF, where the full one would make every row several lines high. */
  | { readonly code: string; readonly inPdf?: string };

/** A sentence. */
export type Inline = Text | readonly Text[];

export type Column = {
  readonly title: string;
  /** Its share of the width. */
  readonly width: number;
  /** Amounts and counts: aligned right, and never broken over lines. */
  readonly isNumber?: boolean;
  /** Never broken over lines either. */
  readonly isWhole?: boolean;
};

export type Table = {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Inline[])[];
  /** The last row, of sums: kept when rows are left out. */
  readonly total?: readonly Inline[];
  /** Where there are more rows than are kept: how many in all, and where they are. */
  readonly more?: { readonly all: number; readonly at: string };
  /** Room to write in: rows are higher. */
  readonly isSheet?: boolean;
};

export type Block =
  | { readonly kind: "heading"; readonly text: string }
  | { readonly kind: "text"; readonly text: Inline }
  | { readonly kind: "list"; readonly items: readonly Inline[] }
  | ({ readonly kind: "table" } & Table)
  /** Lines to write on, each behind its label. */
  | { readonly kind: "fill"; readonly labels: readonly string[] };

/** A paper: a Markdown file, and pages of the PDF that begin on a new page. */
export type Paper = {
  /** Its number in the index, such as `3`; confirmations are `5.1`, `5.2` and so on. */
  readonly number: string;
  readonly title: string;
  /** Name of the file, without its ending. */
  readonly file: string;
  readonly isLandscape?: boolean;
  readonly blocks: readonly Block[];
};

export const heading = (text: string): Block => ({ kind: "heading", text });
export const text = (...parts: readonly Text[]): Block => ({ kind: "text", text: parts });
export const list = (items: readonly Inline[]): Block => ({ kind: "list", items });
export const table = (of: Table): Block => ({ kind: "table", ...of });
export const fill = (...labels: readonly string[]): Block => ({ kind: "fill", labels });
export const code = (of: string): Text => ({ code: of });
/** Addresses with all digits in Markdown, and with the first and last 8 in the PDF. */
export const shortCode = (of: string): Text => ({
  code: of,
  inPdf: of.replace(/0x([0-9a-f]{8})[0-9a-f]{48}([0-9a-f]{8})/g, "0x$1…$2"),
});
export const strong = (of: string): Text => ({ strong: of });

/** Parts of a sentence. */
export const partsOf = (inline: Inline): readonly Text[] => (isParts(inline) ? inline : [inline]);

const isParts = (inline: Inline): inline is readonly Text[] => Array.isArray(inline);

/** Rows of a list that are kept: the first ones, and how many there were. */
export class Kept<Row> {
  readonly rows: Row[] = [];
  #all = 0;
  readonly #most: number;

  constructor(most = 10_000) {
    this.#most = most;
  }

  get all(): number {
    return this.#all;
  }

  add(row: Row): void {
    this.#all += 1;
    if (this.rows.length < this.#most) this.rows.push(row);
  }
}
