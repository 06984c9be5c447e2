/** Above the table of a view: which columns it shows, and its rows as a file. */
import { memo } from "react";
import { Button } from "../controls/controls.tsx";
import { Dropdown } from "../controls/dropdown.tsx";
import { save } from "../data/ask.ts";
import { SaveIcon } from "../shown/icons.tsx";
import { type Column, columnId } from "./column.ts";
import { csvFile, tableCsv } from "./csv.ts";

const DrawnTools = <Row,>({
  columns,
  shown,
  isChosen,
  onChoose,
  rowsNow,
  file,
}: {
  readonly columns: readonly Column<Row>[];
  readonly shown: readonly Column<Row>[];
  /** Whether the reader chose columns, in place of those that have room. */
  readonly isChosen: boolean;
  /** Ids; null: those that have room. */
  readonly onChoose: (ids: readonly string[] | null) => void;
  /** All rows in their order, also those that are not drawn. */
  readonly rowsNow: () => readonly Row[];
  /** The file's name, without its ending. */
  readonly file: string;
}) => {
  const exportRows = () => {
    const exported = isChosen ? shown : columns;
    save(csvFile(tableCsv(exported, rowsNow()), file.toLowerCase().replaceAll(/\W+/g, "-")));
  };
  const choose = (column: Column<Row>, isShown: boolean) =>
    onChoose(
      columns
        .filter((one) => (one === column ? isShown : shown.includes(one)))
        .map((one) => columnId(one)),
    );
  return (
    <div className="flex items-center justify-end gap-1 px-2 pb-1 print:hidden">
      <Dropdown label="Columns" title="Choose the columns; this browser remembers them">
        <fieldset>
          <legend className="sr-only">Columns of this table</legend>
          {columns.map((column, index) => (
            <label
              key={column.header}
              className="flex cursor-pointer items-center gap-2 rounded px-2 py-1 hover:bg-sunken"
            >
              <input
                type="checkbox"
                className="size-4 accent-(--accent)"
                checked={shown.includes(column)}
                // The first names the row.
                disabled={index === 0}
                onChange={({ target }) => choose(column, target.checked)}
              />
              {column.header}
            </label>
          ))}
        </fieldset>
        <Button
          look="quiet"
          className="mt-1 w-full"
          disabled={!isChosen}
          onClick={() => onChoose(null)}
        >
          Default columns
        </Button>
      </Dropdown>
      <Button
        look="quiet"
        title="The rows of this table, in this order, as CSV with exact amounts"
        onClick={exportRows}
      >
        <SaveIcon />
        Export rows
      </Button>
    </div>
  );
};

/** Not drawn again for every row drawn while scrolling. */
export const TableTools = memo(DrawnTools) as typeof DrawnTools;
