/** A chart: drawn once it is in the page, again when its data, its size or the theme change. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { useEffect, useRef } from "react";
import { NotLoaded } from "../blocks/view.tsx";
import { part, usePart } from "../data/part.ts";
import { useTheme } from "../shell/theme.ts";

const coloursNow = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: colour("ink"),
    muted: colour("muted"),
    line: colour("line"),
    surface: colour("surface"),
    accent: colour("accent"),
    good: colour("good"),
  };
};

/** Colours of the theme, for what is drawn on a canvas. */
export type Colours = ReturnType<typeof coloursNow>;

/** Large, and of no use where there is no chart. */
const echarts = part(() => import("./echarts.ts"));

export const Chart = ({
  label,
  option,
  height = 260,
  onChoose,
}: {
  /** What it shows, in a sentence, for who cannot see it; a table beside it says the numbers. */
  readonly label: string;
  /** Keep the same function while what it draws is the same. */
  readonly option: (colours: Colours) => EChartsCoreOption;
  /** Pixels. */
  readonly height?: number;
  /** The `id` of a part that was clicked on; parts without one cannot be chosen. Names may be shared. */
  readonly onChoose?: (id: string) => void;
}) => {
  const box = useRef<HTMLDivElement>(null);
  const chosen = useRef(onChoose);
  chosen.current = onChoose;
  const [theme] = useTheme();
  const drawing = usePart(echarts);
  const draw = drawing.state === "loaded" ? drawing.module.init : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme's colours are read from the page
  useEffect(() => {
    const place = box.current;
    if (place === null || draw === undefined) return;
    const chart: EChartsType = draw(place, null, { renderer: "canvas" });
    const colours = coloursNow();
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: getComputedStyle(place).fontFamily, color: colours.ink },
      ...option(colours),
    });
    chart.on("click", ({ data }) => {
      const id = member(data, "id");
      if (typeof id === "string" && id !== "") chosen.current?.(id);
    });
    const resized = new ResizeObserver(() => chart.resize());
    resized.observe(place);
    return () => {
      resized.disconnect();
      chart.dispose();
    };
  }, [option, theme, draw]);
  if (drawing.state === "failed") return <NotLoaded of={echarts} what="The chart" />;
  return <div ref={box} role="img" aria-label={label} style={{ height }} className="w-full" />;
};

/** A tooltip that needs no inline style, which the page's policy forbids. */
export const tooltip = (colours: Colours, formatter: (point: unknown) => string) => ({
  renderMode: "richText",
  confine: true,
  backgroundColor: colours.surface,
  borderColor: colours.line,
  textStyle: { color: colours.ink, fontSize: 12 },
  formatter,
});

/** A member of what ECharts hands out; undefined without it. */
export const member = (of: unknown, name: string): unknown =>
  typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;

/** The numbers of the point that a tooltip is about. */
export const pointOf = (shown: unknown): readonly [number, number] | null => {
  const value = Array.isArray(shown) ? member(shown[0], "value") : undefined;
  return Array.isArray(value) ? [Number(value[0]), Number(value[1])] : null;
};

/** A line and the area below it. */
export const filled = (color: string) => ({
  lineStyle: { color, width: 2 },
  itemStyle: { color },
  areaStyle: { color, opacity: 0.12 },
});

/** What draws a share of the most over time, in steps. */
export const overTime = (
  colours: Colours,
  colour: string,
  points: readonly (readonly [number, number])[],
  /** What the tooltip says of a moment, milliseconds. */
  said: (atMs: number) => string,
) => ({
  grid: { left: 12, right: 16, top: 20, bottom: 28 },
  useUTC: true,
  tooltip: {
    ...tooltip(colours, (shown) => {
      const point = pointOf(shown);
      return point === null ? "" : said(point[0]);
    }),
    trigger: "axis",
  },
  xAxis: { type: "time", axisLabel: { color: colours.muted, hideOverlap: true } },
  yAxis: {
    type: "value",
    max: 1,
    axisLabel: { show: false },
    splitLine: { lineStyle: { color: colours.line } },
  },
  series: { type: "line", step: "end", showSymbol: false, data: points, ...filled(colour) },
});
