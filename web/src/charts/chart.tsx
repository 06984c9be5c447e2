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
      const id: unknown = typeof data === "object" && data !== null && Reflect.get(data, "id");
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
