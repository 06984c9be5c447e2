/** A chart, redrawn when its data, its size or the theme change. */
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

/** Colours of the theme, for drawing on a canvas. */
export type Colours = ReturnType<typeof coloursNow>;

/** Loaded apart: it is large. */
const echarts = part(() => import("./echarts.ts"));

export const Chart = ({
  label,
  option,
  height = 260,
  onChoose,
}: {
  /** For screen readers; a table beside the chart has the numbers. */
  readonly label: string;
  /** Must be the same function while the data are the same. */
  readonly option: (colours: Colours) => EChartsCoreOption;
  /** Pixels. */
  readonly height?: number;
  /** Called with the `id` of a clicked part; parts without one are not clickable. */
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

/** A tooltip without inline styles, which the content security policy forbids. */
export const tooltip = (colours: Colours, formatter: (point: unknown) => string) => ({
  renderMode: "richText",
  confine: true,
  backgroundColor: colours.surface,
  borderColor: colours.line,
  textStyle: { color: colours.ink, fontSize: 12 },
  formatter,
});

/** A member of an object from ECharts; undefined without it. */
export const member = (of: unknown, name: string): unknown =>
  typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;

/** The point of a tooltip. */
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

/** A line of steps over time, as a proportion of the maximum. */
export const overTime = (
  colours: Colours,
  colour: string,
  points: readonly (readonly [number, number])[],
  /** Text of the tooltip at a time, milliseconds. */
  tooltipText: (atMs: number) => string,
) => ({
  grid: { left: 12, right: 16, top: 20, bottom: 28 },
  useUTC: true,
  tooltip: {
    ...tooltip(colours, (shown) => {
      const point = pointOf(shown);
      return point === null ? "" : tooltipText(point[0]);
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
