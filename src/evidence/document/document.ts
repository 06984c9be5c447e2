/** Working papers, independent of their rendering as Markdown and PDF. */

/** Plain or strong text, or verbatim: a hash, an address, foreign text. */
export type Text =
  | string
  | { readonly strong: string }
  /** `inPdf`: a shorter text for the PDF, to keep rows on one line. */
  | { readonly code: string; readonly inPdf?: string };

export type Inline = Text | readonly Text[];

export type Column = {
  readonly title: string;
  /** Share of the width. */
  readonly width: number;
  /** Amounts and counts: right-aligned, never wrapped. */
  readonly isNumber?: boolean;
  /** Never wrapped. */
  readonly isWhole?: boolean;
};

export type Table = {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Inline[])[];
  /** The row of sums, kept when rows are left out. */
  readonly total?: readonly Inline[];
  /** Rows set in the PDF at most; default: 500. */
  readonly mostSet?: number;
  /** If rows are left out: the total count, and where to find them. */
  readonly more?: { readonly all: number; readonly at: string };
  /** Higher rows, to write in. */
  readonly isSheet?: boolean;
};

export type Block =
  | { readonly kind: "heading"; readonly text: string }
  | { readonly kind: "text"; readonly text: Inline }
  | { readonly kind: "list"; readonly items: readonly Inline[] }
  | ({ readonly kind: "table" } & Table)
  /** A text to scan, as a QR code with a caption. */
  | { readonly kind: "qr"; readonly text: string; readonly caption: Inline }
  /** Labelled lines to write on. */
  | { readonly kind: "fill"; readonly labels: readonly string[] };

/** A Markdown file, and pages of the PDF. */
export type Paper = {
  /** Such as `3`; confirmations are `5.1`, `5.2` and so on; empty for a paper that stands alone. */
  readonly number: string;
  readonly title: string;
  /** Name without extension. */
  readonly file: string;
  readonly isLandscape?: boolean;
  readonly blocks: readonly Block[];
};

export const heading = (text: string): Block => ({ kind: "heading", text });
export const text = (...parts: readonly Text[]): Block => ({ kind: "text", text: parts });
export const list = (items: readonly Inline[]): Block => ({ kind: "list", items });
export const table = (of: Table): Block => ({ kind: "table", ...of });
export const qr = (of: string, caption: Inline): Block => ({ kind: "qr", text: of, caption });
export const fill = (...labels: readonly string[]): Block => ({ kind: "fill", labels });
export const code = (of: string): Text => ({ code: of });
/** All digits in Markdown, the first and last 8 in the PDF. */
export const shortCode = (of: string): Text => ({
  code: of,
  inPdf: of.replace(/0x([0-9a-f]{8})[0-9a-f]{48}([0-9a-f]{8})/g, "0x$1…$2"),
});
export const strong = (of: string): Text => ({ strong: of });

export const partsOf = (inline: Inline): readonly Text[] => (isParts(inline) ? inline : [inline]);

const isParts = (inline: Inline): inline is readonly Text[] => Array.isArray(inline);

/** The first rows of a list, and the count of all. */
export class FirstRows<Row> {
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
