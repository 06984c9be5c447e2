/** A chart in a card: its legend, its values in a table beside it, and both as files. */
import type { EChartsCoreOption } from "echarts/core";
import { type ReactNode, useRef } from "react";
import { Card } from "../blocks/blocks.tsx";
import type { Column } from "../blocks/column.ts";
import { csvFile, tableCsv } from "../blocks/csv.ts";
import { DataTable } from "../blocks/data-table.tsx";
import { Button, useAction } from "../controls/controls.tsx";
import { save } from "../data/ask.ts";
import { Chart, type Colours, coloursNow } from "./chart.tsx";
import { type Key, pictureOf } from "./picture.ts";
import type { Values } from "./stepped.tsx";

export type ChartCardProps<Row extends object> = {
  readonly title: string;
  readonly about: ReactNode;
  /** Below the title in the picture: of what, and of when. */
  readonly caption: string;
  /** Must be the same function while the data are the same. @param width pixels */
  readonly option: (colours: Colours, width: number) => EChartsCoreOption;
  readonly values: Values;
  /** Of more than one colour. */
  readonly legend?: readonly Key[];
  readonly height?: number;
  readonly onChoose?: (id: string) => void;
  /** The table beside the chart, which is also the file of its values. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Choices of what is shown, in the card's head. */
  readonly actions?: ReactNode;
  readonly className?: string;
};

const SWATCHES: Readonly<Record<keyof Colours, string>> = {
  ink: "bg-ink",
  muted: "bg-muted",
  line: "bg-line",
  surface: "bg-surface",
  accent: "bg-accent",
  good: "bg-good",
  warn: "bg-warn",
  bad: "bg-bad",
};

export const ChartCard = <Row extends object>({
  title,
  about,
  caption,
  option,
  values,
  legend = [],
  height = 280,
  onChoose,
  columns,
  rows,
  keyOf,
  actions,
  className = "",
}: ChartCardProps<Row>) => {
  const picture = useRef<(() => HTMLCanvasElement) | null>(null);
  const { fault, run } = useAction();
  const name = `${title} ${caption}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 80);
  const savePicture = async () => {
    const drawn = picture.current?.();
    if (drawn === undefined) throw new Error("The chart is not drawn yet.");
    const blob = await pictureOf(drawn, { title, about: caption, legend }, coloursNow());
    save({ blob, name: `${name}.png` });
  };
  return (
    <Card
      flush
      title={title}
      about={about}
      className={className}
      actions={
        <div className="flex items-center gap-1 print:hidden">
          {actions}
          {fault === null ? null : (
            <span role="alert" className="text-xs text-bad">
              {fault}
            </span>
          )}
          <Button
            look="quiet"
            aria-label={`${title} as PNG`}
            title="The chart as a picture"
            onClick={() => void run(savePicture)}
          >
            PNG
          </Button>
          <Button
            look="quiet"
            aria-label={`${title} as CSV`}
            title="The values of the chart, exact"
            onClick={() => save(csvFile(tableCsv(columns, rows), name))}
          >
            CSV
          </Button>
        </div>
      }
    >
      {legend.length < 2 ? null : (
        <ul className="flex flex-wrap gap-x-4 gap-y-1 px-4 pb-2 text-xs">
          {legend.map(({ name: text, colour }) => (
            <li key={text} className="flex items-center gap-1.5">
              <span aria-hidden="true" className={`size-2.5 rounded-sm ${SWATCHES[colour]}`} />
              {text}
            </li>
          ))}
        </ul>
      )}
      <div className="grid grid-cols-1 border-t border-line lg:grid-cols-2">
        <div className="px-4 py-3">
          <Chart
            label={`${title}: arrow keys move between its values`}
            option={option}
            values={values}
            height={height}
            onChoose={onChoose}
            picture={picture}
          />
        </div>
        <div className="border-line max-lg:border-t lg:border-l">
          <DataTable
            label={`${title}, values`}
            columns={columns}
            rows={rows}
            keyOf={keyOf}
            height={`${height + 24}px`}
          />
        </div>
      </div>
    </Card>
  );
};
