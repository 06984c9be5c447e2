/**
 * Tables of any length: TanStack Table sorts the rows, TanStack Virtual draws those in view. A real `<table>`, so that
 * screen readers, copying and printing work.
 */
import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { usePrinting } from "../data/printing.ts";
import { FittedAlike } from "../shown/fitted.tsx";
import { isPhone, useWidth } from "../shown/width.ts";
import { type Column, columnId, partColumns } from "./column.ts";
import { TableHead } from "./table-head.tsx";
import { ROW_HEIGHT, TableRow } from "./table-row.tsx";
import { TableTools } from "./table-tools.tsx";
import { useTableView } from "./table-view.ts";

export type { Column } from "./column.ts";

/** Longer tables are virtual; a print has all rows of tables that are not much longer than paper is. */
const MAX_DRAWN_ROWS = 60;
const MAX_PRINTED_ROWS = 5_000;

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });

const compare = (a: unknown, b: unknown): number => {
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
};

export const DataTable = <Row extends object>({
  label,
  view,
  file = label,
  columns,
  rows,
  keyOf,
  empty,
  height = "80vh",
  onRow: chosen,
}: {
  /** For screen readers. */
  readonly label: string;
  /** The table that a view is about, one on each: its order and columns are in the address, the columns remembered. */
  readonly view?: string;
  /** Name of the file of its rows. */
  readonly file?: string;
  readonly columns: readonly Column<Row>[];
  /** Must be the same array while the rows are the same. */
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Instead of the table when there are no rows. */
  readonly empty?: ReactNode;
  /** Most height of the box that the table scrolls in, below its headings. */
  readonly height?: string;
  /** A row was clicked; give a link in a cell, too, for the keyboard. */
  readonly onRow?: (row: Row) => void;
}) => {
  const newest = useRef(chosen);
  newest.current = chosen;
  const choose = useCallback((row: Row) => newest.current?.(row), []);
  const onRow = chosen === undefined ? undefined : choose;
  const width = useWidth();
  const { order, columns: chosenIds, chooseColumns, chooseOrder } = useTableView(view);
  const chosenText = chosenIds?.join(",") ?? null;
  const { shown, hidden } = useMemo(
    () => partColumns(columns, chosenText?.split(",") ?? null, width),
    [columns, chosenText, width],
  );
  const definitions = useMemo(
    () =>
      columns.map(
        (column): ColumnDef<typeof features, Row> => ({
          id: columnId(column),
          accessorFn: (row) => column.order?.(row),
          enableSorting: column.order !== undefined,
          sortFn: (a, b) => compare(a.getValue(columnId(column)), b.getValue(columnId(column))),
        }),
      ),
    [columns],
  );
  const sortable = columns.some((one) => columnId(one) === order?.id && one.order !== undefined);
  const [orderId, orderDesc] = sortable ? [order?.id, order?.desc === true] : [undefined, false];
  const sorting = useMemo(
    () => (orderId === undefined ? [] : [{ id: orderId, desc: orderDesc }]),
    [orderId, orderDesc],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: keyOf,
    state: { sorting },
  });
  const sorted = table.getRowModel().rows;
  const rowsNow = useCallback(() => sorted.map(({ original }) => original), [sorted]);
  const box = useRef<HTMLElement>(null);
  const long = sorted.length > (usePrinting() ? MAX_PRINTED_ROWS : MAX_DRAWN_ROWS);
  // The same function while the rows are the same: with another one all rows are measured again.
  const keyAt = useCallback((index: number) => sorted[index]?.id ?? index, [sorted]);
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => box.current,
    getItemKey: keyAt,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    enabled: long,
    // Draw once a frame, whatever the number of scroll events.
    useFlushSync: false,
  });
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (id: string) =>
      setOpened((now) => {
        const next = new Set(now);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const resize = useCallback(
    (index: number, more: number) => virtual.resizeItem(index, ROW_HEIGHT + more),
    [virtual],
  );
  const drawnTable = useRef<HTMLTableElement>(null);
  const version = `${width} ${chosenText} ${columns.length} ${JSON.stringify(sorting)}`;
  const widths = useKeptWidths(drawnTable, long, version);
  const items = virtual.getVirtualItems();
  const drawn = long ? items.map(({ index }) => index) : sorted.map((_, index) => index);
  const before = long ? (items[0]?.start ?? 0) : 0;
  const after = long ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;

  const opens = isPhone(width) && hidden.length > 0;
  const inRows = useMemo(() => (opens ? hidden : []), [opens, hidden]);
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <>
      {view === undefined ? null : (
        <TableTools
          columns={columns}
          shown={shown}
          isChosen={chosenIds !== null}
          onChoose={chooseColumns}
          rowsNow={rowsNow}
          file={file}
        />
      )}
      <section
        ref={box}
        className="relative max-h-(--most) overflow-auto rounded-b-xl print:max-h-none"
        style={Object.assign({}, { "--most": height }, long ? { height } : undefined)}
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
              {widths.map((pixels, index) => (
                // A column has no other name here.
                // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
                <col key={index} style={{ width: pixels }} />
              ))}
            </colgroup>
          )}
          <TableHead columns={shown} opens={opens} order={order} onOrder={chooseOrder} />
          <FittedAlike>
            <tbody>
              {before > 0 ? <tr style={{ height: before }} /> : null}
              {drawn.map((index) => {
                const row = sorted[index];
                if (row === undefined) return null;
                return (
                  <TableRow
                    key={row.id}
                    id={row.id}
                    index={index}
                    row={row.original}
                    columns={shown}
                    hidden={inRows}
                    isOpen={opens && opened.has(row.id)}
                    onToggle={toggle}
                    onResize={resize}
                    onRow={onRow}
                  />
                );
              })}
              {after > 0 ? <tr style={{ height: after }} /> : null}
            </tbody>
          </FittedAlike>
        </table>
      </section>
    </>
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
    const heads = [...table.current.querySelectorAll("th")];
    // Not laid out yet: something above it is loading.
    if (heads.every((head) => head.offsetWidth === 0)) return;
    setFound({ version, widths: heads.map((head) => head.offsetWidth) });
  });
  return widths;
};
