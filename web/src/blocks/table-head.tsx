/** The headings of a table; a click on one sorts by it. */
import { memo } from "react";
import { DownIcon } from "../shown/icons.tsx";
import { type Column, columnId } from "./column.ts";
import { placeOf } from "./table-row.tsx";
import type { Order } from "./table-view.ts";

const DrawnHead = <Row,>({
  columns,
  opens,
  order,
  onOrder,
}: {
  readonly columns: readonly Column<Row>[];
  /** Whether rows open: their buttons have a column of their own. */
  readonly opens: boolean;
  readonly order: Order | null;
  readonly onOrder: (order: Order | null) => void;
}) => {
  const amounts = columns.filter(({ amount }) => amount).length;
  const amountWidth = amounts > 1 ? "max-md:w-1/2" : "max-md:w-full";
  /** Largest first for numbers, then the other way round, then none. */
  const next = (column: Column<Row>, now: Order | null): Order | null => {
    const id = columnId(column);
    const first = column.align === "right";
    if (now === null) return { id, desc: first };
    return now.desc === first ? { id, desc: !first } : null;
  };
  return (
    <thead className="sticky top-0 z-20 bg-surface shadow-[inset_0_-1px_0_var(--line)]">
      <tr>
        {columns.map((column) => {
          const now = order?.id === columnId(column) ? order : null;
          return (
            <th
              key={column.header}
              scope="col"
              aria-sort={now === null ? undefined : now.desc ? "descending" : "ascending"}
              className={`px-3 py-2 text-xs first:pl-4 last:pr-4 max-md:px-2 max-md:first:pl-3 max-md:last:pr-3 font-medium whitespace-nowrap text-muted ${placeOf(column)} ${column.amount ? `${amountWidth} max-md:min-w-20` : ""}`}
            >
              {column.order === undefined ? (
                <span className="inline-block min-h-5 align-middle leading-5 max-md:leading-4">
                  <Heading of={column} />
                </span>
              ) : (
                <button
                  type="button"
                  // The mark is on the inner side, so that a heading ends where its figures end.
                  className={`inline-flex min-h-5 items-center gap-1 align-middle leading-5 max-md:leading-4 hover:text-ink ${column.align === "right" ? "flex-row-reverse" : ""}`}
                  onClick={() => onOrder(next(column, now))}
                >
                  <span>
                    <Heading of={column} />
                  </span>
                  <span
                    className={`transition-transform ${now === null ? "opacity-0" : ""} ${now?.desc === false ? "rotate-180" : ""}`}
                  >
                    <DownIcon />
                  </span>
                </button>
              )}
            </th>
          );
        })}
        {opens ? (
          <th className="w-7">
            <span className="sr-only">More</span>
          </th>
        ) : null}
      </tr>
    </thead>
  );
};

/** Not drawn again for every row drawn while scrolling. */
export const TableHead = memo(DrawnHead) as typeof DrawnHead;

const Heading = <Row,>({ of: { header, unit } }: { readonly of: Column<Row> }) => (
  <>
    {header}{" "}
    {unit === undefined ? null : <span className="block font-normal md:inline">{unit}</span>}
  </>
);
