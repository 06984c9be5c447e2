/** Columns of tables: what they show, and which of them have room. */
import type { ReactNode } from "react";
import type { Width } from "../shown/width.ts";

export type Column<Row> = {
  /** Unique in its table. */
  readonly header: string;
  /** Beside the heading: the symbol of amounts. */
  readonly unit?: string | undefined;
  /** Null and undefined are shown as a dash. */
  readonly cell: (row: Row) => ReactNode;
  /** Its text in an exported file, where amounts are exact and ids are whole; without it the column is left out. */
  readonly plain?: (row: Row) => string | null | undefined;
  /** Numbers are aligned to the right. */
  readonly align?: "left" | "right";
  /** The value to sort by; without it the column cannot be sorted. */
  readonly order?: (row: Row) => bigint | number | string;
  /** On a phone an amount is rounded to the width that the other columns leave. */
  readonly amount?: boolean;
  /**
   * Shown on wider screens only, unless it was chosen: true: not on phones; `very`: nor on most desktops; `slightly`:
   * only the narrowest phones leave it out. On a phone the row opens to it.
   */
  readonly wideOnly?: boolean | "very" | "slightly";
  /** Such as `w-40`. */
  readonly className?: string;
};

/** Its name in addresses: `balance-after`. */
export const columnId = ({ header }: { readonly header: string }): string =>
  header.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

/** Widths that leave a column out. */
const LEFT_OUT: Readonly<Record<"slightly" | "true" | "very", readonly Width[]>> = {
  slightly: ["tiny"],
  true: ["tiny", "phone"],
  very: ["tiny", "phone", "desk"],
};

const hasRoom = <Row>({ wideOnly = false }: Column<Row>, width: Width): boolean =>
  wideOnly === false || !LEFT_OUT[wideOnly === true ? "true" : wideOnly].includes(width);

/** The columns to show, and the others. The first names the row, and is always shown. */
export const partColumns = <Row>(
  columns: readonly Column<Row>[],
  /** Ids; null: those that have room. */
  chosen: readonly string[] | null,
  width: Width,
): { readonly shown: readonly Column<Row>[]; readonly hidden: readonly Column<Row>[] } => {
  // Ids of another table choose nothing.
  const isChoice = chosen?.some((id) => columns.some((column) => columnId(column) === id)) === true;
  const isShown = (column: Column<Row>, index: number) =>
    index === 0 || (isChoice ? chosen.includes(columnId(column)) : hasRoom(column, width));
  return {
    shown: columns.filter(isShown),
    hidden: columns.filter((column, index) => !isShown(column, index)),
  };
};
