/** Choosing a moment: a date and time in UTC, a slider over the time there is, or now. */
import { useEffect, useRef, useState } from "react";
import { fieldSeconds, fieldText } from "../shown/moment.ts";
import { Button } from "./button.tsx";

export const When = ({
  label,
  at,
  shown,
  from,
  to,
  nowLabel = "Now",
  onChange,
}: {
  readonly label: string;
  /** Unix seconds; undefined: now. */
  readonly at: number | undefined;
  /** What is shown while none is chosen; the newest time without it. */
  readonly shown?: number | undefined;
  /** Ends of the slider, unix seconds; none is shown while the beginning is not known. */
  readonly from: number | undefined;
  readonly to: number;
  readonly nowLabel?: string;
  readonly onChange: (at: number | undefined) => void;
}) => {
  const [slid, setSlid] = useState(at ?? shown ?? to);
  // The chain's end moves every second; what a hand has hold of does not follow it.
  const held = useRef(false);
  const [end, setEnd] = useState(to);
  useEffect(() => {
    if (held.current) return;
    setSlid(at ?? shown ?? to);
    setEnd(to);
  }, [at, shown, to]);
  // A year is typed digit by digit: until it is in the token's time, it is only text.
  const [typed, setTyped] = useState<string | null>(null);
  const settle = (value: number) => {
    held.current = false;
    onChange(value >= end ? undefined : value);
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <span className="text-xs font-medium text-muted">{label}</span>
      <input
        type="datetime-local"
        step={1}
        aria-label={`${label}, UTC`}
        className="h-8 rounded-md border border-line bg-surface px-2 text-sm"
        value={typed ?? fieldText(slid)}
        max={fieldText(to)}
        onChange={(event) => {
          setTyped(event.target.value);
          const seconds = fieldSeconds(event.target.value);
          if (seconds !== null && seconds >= (from ?? 0)) settle(seconds);
        }}
        onBlur={() => setTyped(null)}
      />
      <span className="text-xs text-muted">UTC</span>
      {from === undefined || from >= to ? null : (
        <input
          type="range"
          aria-label={`${label}, over the token's time`}
          className="h-8 w-36 min-w-0 accent-(--accent) sm:w-48"
          min={from}
          max={end}
          value={slid}
          aria-valuetext={fieldText(slid)}
          onChange={(event) => {
            held.current = true;
            setSlid(Number(event.target.value));
          }}
          onPointerUp={() => settle(slid)}
          onKeyUp={() => settle(slid)}
        />
      )}
      <Button look={at === undefined ? "strong" : "plain"} onClick={() => onChange(undefined)}>
        {nowLabel}
      </Button>
    </div>
  );
};
