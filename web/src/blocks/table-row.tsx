/** A row of a table. On a phone it opens to the columns that have no room. */
import { memo, useLayoutEffect, useRef } from "react";
import { FittedAlike } from "../shown/fitted.tsx";
import { DownIcon } from "../shown/icons.tsx";
import type { Column } from "./column.ts";

/** Pixels. */
export const ROW_HEIGHT = 38;

export const placeOf = <Row,>(column: Column<Row>): string =>
  `${column.align === "right" ? "text-right" : "text-left"} ${column.className ?? ""}`;

type DrawnRow<Row> = {
  readonly id: string;
  readonly index: number;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  /** What the row opens to; empty: it does not open. */
  readonly hidden: readonly Column<Row>[];
  readonly isOpen: boolean;
  readonly onToggle: (id: string) => void;
  /** Called with the height of what the row opened to, pixels. */
  readonly onResize: (index: number, more: number) => void;
  readonly onRow: ((row: Row) => void) | undefined;
};

const dash = <span className="text-muted">–</span>;

const DrawnRow = <Row,>(drawn: DrawnRow<Row>) => {
  const { id, index, row, columns, hidden, isOpen, onToggle, onResize, onRow } = drawn;
  return (
    <>
      <tr
        aria-rowindex={index + 2}
        style={{ height: ROW_HEIGHT }}
        className={`border-line last:border-b-0 hover:bg-sunken/60 ${isOpen ? "" : "border-b"} ${onRow === undefined ? "" : "cursor-pointer"}`}
        onClick={
          onRow === undefined
            ? undefined
            : (event) => {
                // Links and buttons in the row act for themselves, and text may be selected to copy it.
                const on = event.target;
                if (on instanceof Element && on.closest("a,button") !== null) return;
                if (String(getSelection() ?? "") !== "") return;
                onRow(row);
              }
        }
      >
        {columns.map((column) => (
          <td
            key={column.header}
            className={`px-3 py-1.5 whitespace-nowrap first:pl-4 last:pr-4 max-md:px-2 max-md:first:pl-3 max-md:last:pr-3 ${placeOf(column)} ${column.amount ? "max-md:max-w-0" : ""}`}
          >
            {column.cell(row) ?? dash}
          </td>
        ))}
        {hidden.length === 0 ? null : (
          <td className="w-7 text-right">
            <button
              type="button"
              aria-expanded={isOpen}
              aria-label={`${isOpen ? "Less" : "More"} of this row`}
              className="inline-grid size-7 place-items-center rounded text-muted hover:bg-sunken hover:text-ink"
              onClick={() => onToggle(id)}
            >
              <span className={isOpen ? "rotate-180" : ""}>
                <DownIcon />
              </span>
            </button>
          </td>
        )}
      </tr>
      {isOpen ? (
        <Opened
          row={row}
          hidden={hidden}
          span={columns.length + 1}
          onHeight={(pixels) => onResize(index, pixels)}
        />
      ) : null}
    </>
  );
};

const Opened = <Row,>({
  row,
  hidden,
  span,
  onHeight,
}: Pick<DrawnRow<Row>, "row" | "hidden"> & {
  /** Columns of the table. */
  readonly span: number;
  readonly onHeight: (pixels: number) => void;
}) => {
  const line = useRef<HTMLTableRowElement>(null);
  const newest = useRef(onHeight);
  newest.current = onHeight;
  useLayoutEffect(() => {
    newest.current(line.current?.offsetHeight ?? 0);
    return () => newest.current(0);
  }, []);
  return (
    <tr ref={line} className="border-b border-line last:border-b-0">
      <td colSpan={span} className="max-w-0 px-3 pb-2">
        <FittedAlike>
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-4 gap-y-1 rounded-lg bg-sunken/60 px-3 py-2">
            {hidden.map((column) => (
              <div key={column.header} className="contents">
                <dt className="text-xs text-muted">
                  {column.header} {column.unit}
                </dt>
                <dd className="min-w-0 text-right">{column.cell(row) ?? dash}</dd>
              </div>
            ))}
          </dl>
        </FittedAlike>
      </td>
    </tr>
  );
};

/** Memoized: scrolling draws only the rows that come into view. */
export const TableRow = memo(DrawnRow) as typeof DrawnRow;
