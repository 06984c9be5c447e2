/** Values over time, in a card: lines, steps or stacked bars, with their table. */
import { type ReactNode, useCallback, useMemo } from "react";
import type { Column } from "../blocks/column.ts";
import { momentText } from "../shown/moment.ts";
import { isoText } from "../shown/shown.tsx";
import { type Colours, filled, member, tooltip } from "./chart.tsx";
import { ChartCard } from "./chart-card.tsx";
import type { Measure } from "./measure.ts";

export type Line = {
  readonly name: string;
  readonly colour: keyof Colours;
  /** One for each time; null where it is not known. */
  readonly values: readonly (bigint | null)[];
};

type Row = { readonly index: number; readonly timeMs: number };

/** `2026-05-04 13:02`. */
const minuteText = (ms: number): string => momentText(ms).slice(0, 16);

const DAY_MS = 86_400_000;

/** A mark of an axis of time: a month, a day or a time of day, as the length of the axis has room for. */
const markOf =
  (times: readonly number[]) =>
  (ms: number): string => {
    const length = (times.at(-1) ?? 0) - (times[0] ?? 0);
    const text = momentText(ms);
    if (length > 400 * DAY_MS) return text.slice(0, 7);
    return length > 3 * DAY_MS ? text.slice(5, 10) : text.slice(5, 16);
  };

const markAt = (ms: number, colours: Colours) => ({
  symbol: "none",
  silent: true,
  lineStyle: { color: colours.muted, type: "dashed" },
  label: { formatter: "now", color: colours.muted },
  data: [{ xAxis: ms }],
});

export const OverTime = ({
  title,
  about,
  caption,
  kind,
  times,
  timeText = minuteText,
  lines,
  measure,
  markMs,
  height = 260,
  actions,
  className = "",
}: {
  readonly title: string;
  readonly about: ReactNode;
  /** Of the picture: of what, and of when. */
  readonly caption: string;
  /** `steps`: a value lasts until the next; `bars`: of the time from one to the next, one on the other. */
  readonly kind: "lines" | "steps" | "bars";
  /** Milliseconds, ascending; the same array while the values are the same. */
  readonly times: readonly number[];
  readonly timeText?: (ms: number) => string;
  /** The same array while the values are the same. */
  readonly lines: readonly Line[];
  /** The same object while the token is the same. */
  readonly measure: Measure;
  /** The time in view, where the line goes beyond it. */
  readonly markMs?: number;
  readonly height?: number;
  /** Choices of what is shown, in the card's head. */
  readonly actions?: ReactNode;
  readonly className?: string;
}) => {
  const describe = useCallback(
    (index: number) =>
      [
        timeText(times[index] ?? 0),
        ...lines.map(({ name, values }) => {
          const value = values[index] ?? null;
          return `${name}: ${value === null ? "not known" : measure.text(value)}`;
        }),
      ].join("\n"),
    [times, timeText, lines, measure],
  );
  const option = useCallback(
    (colours: Colours) => ({
      useUTC: true,
      grid: { left: 4, right: 12, top: 12, bottom: 4, outerBoundsMode: "same" },
      tooltip: {
        ...tooltip(colours, (shown) => {
          const index = member(Array.isArray(shown) ? shown[0] : shown, "dataIndex");
          return typeof index === "number" ? describe(index) : "";
        }),
        trigger: "axis",
        axisPointer: { type: kind === "bars" ? "shadow" : "line" },
      },
      xAxis: {
        axisLabel: {
          color: colours.muted,
          hideOverlap: true,
          ...(kind !== "bars" && { formatter: markOf(times) }),
        },
        axisLine: { lineStyle: { color: colours.line } },
        axisTick: { lineStyle: { color: colours.line } },
        ...(kind === "bars"
          ? { type: "category", data: times.map((ms) => timeText(ms)) }
          : { type: "time" }),
      },
      yAxis: {
        ...(measure.byPowers ? { type: "log", min: 1 } : { type: "value", min: 0 }),
        axisLabel: { color: colours.muted, formatter: measure.mark },
        splitLine: { lineStyle: { color: colours.line } },
      },
      series: lines.map(({ name, colour, values }) => {
        const color = colours[colour];
        const drawn = values.map((value) => (value === null ? null : measure.drawn(value)));
        return kind === "bars"
          ? { type: "bar", name, stack: "all", data: drawn, itemStyle: { color } }
          : {
              type: "line",
              name,
              ...(kind === "steps" && { step: "end" }),
              showSymbol: values.length < 30,
              symbolSize: 5,
              data: drawn.map((value, index) => [times[index], value]),
              ...filled(color),
              ...(lines.length > 1 && { areaStyle: { opacity: 0 } }),
              ...(markMs !== undefined && { markLine: markAt(markMs, colours) }),
            };
      }),
    }),
    [kind, times, timeText, lines, measure, markMs, describe],
  );
  const rows = useMemo(
    (): readonly Row[] => times.map((timeMs, index) => ({ index, timeMs })).toReversed(),
    [times],
  );
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        header: "Time, UTC",
        order: ({ timeMs }) => timeMs,
        cell: ({ timeMs }) => <span className="figures">{timeText(timeMs)}</span>,
        plain: ({ timeMs }) => isoText(timeMs),
      },
      ...lines.map(({ name, values }): Column<Row> => {
        const of = ({ index }: Row) => values[index] ?? null;
        return {
          header: name,
          unit: measure.unit,
          align: "right",
          order: (row) => of(row) ?? -1n,
          cell: (row) => {
            const value = of(row);
            return value === null ? null : <span className="figures">{measure.cell(value)}</span>;
          },
          plain: (row) => {
            const value = of(row);
            return value === null ? null : measure.plain(value);
          },
        };
      }),
    ],
    [lines, measure, timeText],
  );
  return (
    <ChartCard
      title={title}
      about={about}
      caption={caption}
      className={className}
      actions={actions}
      option={option}
      values={{ count: times.length, describe }}
      legend={lines}
      height={height}
      columns={columns}
      rows={rows}
      keyOf={({ index }) => `${index}`}
    />
  );
};
