/** A chart by keyboard. */
import type { EChartsType } from "echarts/core";
import { type KeyboardEvent, type ReactNode, type RefObject, useState } from "react";

/** Values that the keyboard and pointing move between. */
export type Values = {
  readonly count: number;
  /** Of a value, as read out and shown: its place, and its amounts, on lines. */
  readonly describe: (index: number) => string;
  /** What Enter chooses; empty: nothing. */
  readonly idOf?: (index: number) => string;
  /** Where the keyboard begins; the last without it. */
  readonly begin?: number;
  /** The `dataIndex` of the first value; 1 for a treemap, whose root is 0. */
  readonly first?: number;
};

/** Arrow keys, Home and End move between the values of a chart; each is shown as by pointing, and read out. */
export const Stepped = ({
  label,
  values: { count, describe, idOf, first = 0, begin = count - 1 },
  drawn,
  onChoose,
  children,
}: {
  readonly label: string;
  readonly values: Values;
  readonly drawn: RefObject<EChartsType | null>;
  readonly onChoose: (id: string) => void;
  readonly children: ReactNode;
}) => {
  const [at, setAt] = useState<number | null>(null);
  const now = Math.min(at ?? begin, count - 1);
  const show = (index: number) => {
    setAt(index);
    drawn.current?.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: index + first });
  };
  const hide = () => drawn.current?.dispatchAction({ type: "hideTip" });
  const act = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      PageUp: now + 10,
      PageDown: now - 10,
      Home: 0,
      End: count - 1,
    };
    const to = steps[event.key];
    if (to !== undefined) show(Math.max(0, Math.min(count - 1, to)));
    else if (event.key === "Escape") return hide();
    else if (event.key === "Enter" && idOf !== undefined) {
      onChoose(idOf(now));
    } else return;
    event.preventDefault();
  };
  return (
    // Values along a line, of which one is current: no other element is read out so by screen readers.
    <div
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-roledescription="chart"
      aria-valuemin={1}
      aria-valuemax={count}
      aria-valuenow={now + 1}
      aria-valuetext={describe(now).replaceAll("\n", ", ")}
      className="rounded"
      onKeyDown={act}
      onFocus={(event) => event.currentTarget.matches(":focus-visible") && show(now)}
      onBlur={hide}
    >
      {children}
    </div>
  );
};
