/** A slider over a time, with marks of the calendar below it. */
import { useMemo } from "react";
import { ticksBetween, typedText } from "../shown/calendar.ts";

/** Marks that have room. */
const MOST = 5;

/** Half of the slider's thumb, which the browser keeps inside of the track. */
const INSET = "8px";

export const TimeLine = ({
  label,
  from,
  to,
  at,
  onSlide,
  onSettle,
}: {
  readonly label: string;
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly at: number;
  readonly onSlide: (at: number) => void;
  /** It was let go. */
  readonly onSettle: () => void;
}) => {
  const ticks = useMemo(() => ticksBetween(from, to, MOST), [from, to]);
  return (
    <div className="relative h-8 min-w-44 flex-1 basis-44 sm:max-w-80">
      <input
        type="range"
        aria-label={label}
        className="h-4 w-full accent-(--accent)"
        min={from}
        max={to}
        value={at}
        aria-valuetext={`${typedText(at)} UTC`}
        onChange={({ target }) => onSlide(Number(target.value))}
        onPointerUp={onSettle}
        onKeyUp={onSettle}
      />
      <div aria-hidden="true" className="pointer-events-none absolute inset-x-0 top-4 h-4">
        {ticks.map(({ at: tick, label: text }) => {
          const share = (tick - from) / (to - from);
          return (
            <span
              key={tick}
              className={`absolute border-line pl-1 text-[10px] leading-3 whitespace-nowrap text-muted ${share > 0.85 ? "-translate-x-full border-r pr-1" : "border-l"}`}
              style={{ left: `calc(${INSET} + ${share} * (100% - 2 * ${INSET}))` }}
            >
              {text}
            </span>
          );
        })}
      </div>
    </div>
  );
};
