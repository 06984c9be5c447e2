/**
 * Tables of any length: TanStack Table sorts the rows, TanStack Virtual draws those in view. A real `<table>`, so that
 * screen readers, copying and printing work.
 */
import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { FittedAlike } from "../shown/fitted.tsx";
import { DownIcon } from "../shown/icons.tsx";

export type Column<Row> = {
  /** Unique in its table. */
  readonly header: string;
  /** Null and undefined are shown as a dash. */
  readonly cell: (row: Row) => ReactNode;
  /** Numbers are aligned to the right. */
  readonly align?: "left" | "right";
  /** The value to sort by; without it the column cannot be sorted. */
  readonly order?: (row: Row) => bigint | number | string;
  /** On a phone an amount is rounded to the width that the other columns leave. */
  readonly amount?: boolean;
  /** Hidden on narrow screens; `very`: also on most desktops. */
  readonly wideOnly?: boolean | "very";
  /** Such as `w-40`. */
  readonly className?: string;
};

/** Longer tables are virtual, in a box that scrolls. */
const MAX_DRAWN_ROWS = 60;
/** Pixels. */
const ROW_HEIGHT = 38;

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });

const compare = (a: unknown, b: unknown): number => {
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
};

export const DataTable = <Row extends object>({
  label,
  columns,
  rows,
  keyOf,
  empty,
  height = "70vh",
  onRow: chosen,
}: {
  /** For screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Must be the same array while the rows are the same. */
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Instead of the table when there are no rows. */
  readonly empty?: ReactNode;
  /** Height of the box that a long table scrolls in. */
  readonly height?: string;
  /** A row was clicked; give a link in a cell, too, for the keyboard. */
  readonly onRow?: (row: Row) => void;
}) => {
  const newest = useRef(chosen);
  newest.current = chosen;
  const choose = useCallback((row: Row) => newest.current?.(row), []);
  const onRow = chosen === undefined ? undefined : choose;
  const [sorting, setSorting] = useState<SortingState>([]);
  const definitions = useMemo(
    () =>
      columns.map(
        (column): ColumnDef<typeof features, Row> => ({
          id: column.header,
          accessorFn: (row) => column.order?.(row),
          enableSorting: column.order !== undefined,
          sortFn: (a, b) => compare(a.getValue(column.header), b.getValue(column.header)),
          sortDescFirst: column.align === "right",
        }),
      ),
    [columns],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: keyOf,
    state: { sorting },
    onSortingChange: setSorting,
  });
  const sorted = table.getRowModel().rows;
  const box = useRef<HTMLElement>(null);
  const long = sorted.length > MAX_DRAWN_ROWS;
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    enabled: long,
    // Draw once a frame, whatever the number of scroll events.
    useFlushSync: false,
  });
  const drawnTable = useRef<HTMLTableElement>(null);
  const widths = useKeptWidths(drawnTable, long, `${columns.length} ${JSON.stringify(sorting)}`);
  const items = virtual.getVirtualItems();
  const drawn = long ? items.map(({ index }) => index) : sorted.map((_, index) => index);
  const before = long ? (items[0]?.start ?? 0) : 0;
  const after = long ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;

  const amounts = columns.filter(({ amount, wideOnly }) => amount && !wideOnly).length;
  const amountWidth = amounts > 1 ? "max-md:w-1/2" : "max-md:w-full";

  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <section
      ref={box}
      className="relative overflow-auto rounded-b-xl"
      style={long ? { height } : undefined}
      // The keyboard must reach a box that scrolls.
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label={label}
    >
      <table
        ref={drawnTable}
        className={`border-collapse text-sm ${widths === null ? "w-full" : "table-fixed"}`}
        style={widths === null ? undefined : { width: widths.reduce((sum, one) => sum + one, 0) }}
        aria-rowcount={sorted.length + 1}
      >
        {widths === null ? null : (
          <colgroup>
            {widths.map((width, index) => (
              // A column has no other name here.
              // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
              <col key={index} style={{ width }} />
            ))}
          </colgroup>
        )}
        <thead className="sticky top-0 z-10 bg-surface">
          <tr>
            {columns.map((column) => {
              const direction = sorting.find(({ id }) => id === column.header);
              return (
                <th
                  key={column.header}
                  scope="col"
                  aria-sort={
                    direction === undefined
                      ? undefined
                      : direction.desc
                        ? "descending"
                        : "ascending"
                  }
                  className={`border-b border-line px-3 py-2 text-xs first:pl-4 last:pr-4 max-md:px-2 max-md:first:pl-3 max-md:last:pr-3 font-medium whitespace-nowrap text-muted ${placeOf(column)} ${column.amount ? `${amountWidth} max-md:min-w-24` : ""}`}
                >
                  {column.order === undefined ? (
                    column.header
                  ) : (
                    <button
                      type="button"
                      className="inline-flex items-center gap-1 hover:text-ink"
                      onClick={() => table.getColumn(column.header)?.toggleSorting()}
                    >
                      {column.header}
                      <span
                        className={`transition-transform ${direction === undefined ? "opacity-0" : ""} ${direction?.desc === false ? "rotate-180" : ""}`}
                      >
                        <DownIcon />
                      </span>
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <FittedAlike>
          <tbody>
            {before > 0 ? <tr style={{ height: before }} /> : null}
            {drawn.map((index) => {
              const row = sorted[index];
              if (row === undefined) return null;
              return (
                <Drawn
                  key={row.id}
                  index={index}
                  row={row.original}
                  columns={columns}
                  onRow={onRow}
                />
              );
            })}
            {after > 0 ? <tr style={{ height: after }} /> : null}
          </tbody>
        </FittedAlike>
      </table>
    </section>
  );
};

/** Widths of the visible columns, pixels, fixed from the first rows: no column moves while scrolling. Null at first. */
const useKeptWidths = (
  table: RefObject<HTMLTableElement | null>,
  kept: boolean,
  /** Another version is measured again. */
  version: string,
): readonly number[] | null => {
  const [found, setFound] = useState<{ version: string; widths: readonly number[] } | null>(null);
  useEffect(() => {
    const forget = () => setFound(null);
    addEventListener("resize", forget);
    return () => removeEventListener("resize", forget);
  }, []);
  const widths = kept && found?.version === version ? found.widths : null;
  useLayoutEffect(() => {
    if (!kept || widths !== null || table.current === null) return;
    // Without a row only the headings would be measured.
    if (table.current.querySelector("tbody td") === null) return;
    const heads = [...table.current.querySelectorAll("th")].filter((head) => head.offsetWidth > 0);
    setFound({ version, widths: heads.map((head) => head.offsetWidth) });
  });
  return widths;
};

const placeOf = <Row,>(column: Column<Row>): string =>
  `${column.align === "right" ? "text-right" : "text-left"} ${column.wideOnly === "very" ? "max-[1400px]:hidden" : column.wideOnly ? "max-md:hidden" : ""} ${column.className ?? ""}`;

type DrawnRow<Row> = {
  readonly index: number;
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly onRow: ((row: Row) => void) | undefined;
};

const DrawnRow = <Row,>({ index, row, columns, onRow }: DrawnRow<Row>) => (
  <tr
    aria-rowindex={index + 2}
    style={{ height: ROW_HEIGHT }}
    className={`border-b border-line last:border-b-0 hover:bg-sunken/60 ${onRow === undefined ? "" : "cursor-pointer"}`}
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
        {column.cell(row) ?? <span className="text-muted">–</span>}
      </td>
    ))}
  </tr>
);

/** Memoized: scrolling draws only the rows that come into view. */
const Drawn = memo(DrawnRow) as typeof DrawnRow;
