/** A chart, redrawn when its data, its size or the theme change. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { type RefObject, useEffect, useRef } from "react";
import { NotLoaded } from "../blocks/view.tsx";
import { part, usePart } from "../data/part.ts";
import { useTheme } from "../shell/theme.ts";
import { Stepped, type Values } from "./stepped.tsx";

export const coloursNow = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: colour("ink"),
    muted: colour("muted"),
    line: colour("line"),
    surface: colour("surface"),
    accent: colour("accent"),
    good: colour("good"),
    warn: colour("warn"),
    bad: colour("bad"),
  };
};

/** Colours of the theme, for drawing on a canvas. */
export type Colours = ReturnType<typeof coloursNow>;

/** Loaded apart: it is large. */
const echarts = part(() => import("./echarts.ts"));

export const Chart = ({
  label,
  option,
  values,
  height = 260,
  onChoose,
  picture,
}: {
  /** For screen readers; a table beside the chart has the numbers. */
  readonly label: string;
  /** Must be the same function while the data are the same. @param width pixels */
  readonly option: (colours: Colours, width: number) => EChartsCoreOption;
  /** With them the chart can be focused, and arrow keys move from value to value. */
  readonly values?: Values;
  /** Pixels. */
  readonly height?: number;
  /** Called with the `id` of a clicked part; parts without one are not clickable. */
  readonly onChoose?: ((id: string) => void) | undefined;
  /** Filled with what draws the chart for a file, at twice its size. */
  readonly picture?: RefObject<(() => HTMLCanvasElement) | null>;
}) => {
  const box = useRef<HTMLDivElement>(null);
  const chosen = useRef(onChoose);
  chosen.current = onChoose;
  const drawn = useRef<EChartsType>(null);
  const [theme] = useTheme();
  const drawing = usePart(echarts);
  const draw = drawing.state === "loaded" ? drawing.module.init : undefined;
  const isStepped = values !== undefined && values.count > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the box is another one with keys or without
  useEffect(() => {
    const place = box.current;
    if (place === null || draw === undefined) return;
    const chart: EChartsType = draw(place, null, { renderer: "canvas" });
    drawn.current = chart;
    chart.on("click", ({ data }) => {
      const id = member(data, "id");
      if (typeof id === "string" && id !== "") chosen.current?.(id);
    });
    if (picture !== undefined) {
      picture.current = () =>
        chart.renderToCanvas({ pixelRatio: 2, backgroundColor: coloursNow().surface });
    }
    return () => {
      drawn.current = null;
      if (picture !== undefined) picture.current = null;
      chart.dispose();
    };
  }, [draw, picture, isStepped]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme's colours are read from the page
  useEffect(() => {
    const [place, chart] = [box.current, drawn.current];
    if (place === null || chart === null) return;
    let width = place.clientWidth;
    const set = () => {
      const colours = coloursNow();
      const style = { fontFamily: getComputedStyle(place).fontFamily, color: colours.ink };
      const shown = { animation: false, textStyle: style, ...option(colours, width) };
      chart.setOption(shown, { replaceMerge: ["series"] });
    };
    set();
    const resized = new ResizeObserver(() => {
      chart.resize();
      if (place.clientWidth === width) return;
      width = place.clientWidth;
      set();
    });
    resized.observe(place);
    return () => resized.disconnect();
  }, [option, theme, draw, isStepped]);
  if (drawing.state === "failed") return <NotLoaded of={echarts} what="The chart" />;
  if (!isStepped) {
    return <div ref={box} role="img" aria-label={label} style={{ height }} className="w-full" />;
  }
  return (
    <Stepped label={label} values={values} drawn={drawn} onChoose={(id) => chosen.current?.(id)}>
      <div ref={box} aria-hidden="true" style={{ height }} className="w-full" />
    </Stepped>
  );
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

/** A line and the area below it. */
export const filled = (color: string) => ({
  lineStyle: { color, width: 2 },
  itemStyle: { color },
  areaStyle: { color, opacity: 0.12 },
});
