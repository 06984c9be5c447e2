/** Choosing a moment, kept in the page's address; absent for now. */
import { useEffect, useRef, useState } from "react";
import { useMomentMs } from "../data/moment.ts";
import { useChangeAddress } from "../data/tokens.ts";
import { fieldSeconds, fieldText } from "../shown/moment.ts";
import { Button } from "./controls.tsx";

/** A date and time in UTC, a slider over the token's time, and a button for now. */
export const When = ({
  name,
  label,
  at: given,
  shown,
  from,
  to,
  nowLabel = "Now",
}: {
  /** Of the search parameter. */
  readonly name: "at" | "since" | "with";
  readonly label: string;
  /** The moment; undefined: now. */
  readonly at: string | undefined;
  /** Shown while none is chosen; the newest time without it. */
  readonly shown?: number | undefined;
  /** Ends of the slider, unix seconds; no slider while the beginning is unknown. */
  readonly from: number | undefined;
  readonly to: number;
  readonly nowLabel?: string;
}) => {
  const change = useChangeAddress();
  const atMs = useMomentMs(given);
  const at = atMs === undefined ? undefined : Math.floor(atMs / 1_000);
  const choose = (chosen: number | undefined) =>
    change({ [name]: chosen === undefined ? undefined : String(chosen) });
  const [slid, setSlid] = useState(at ?? shown ?? to);
  // The chain's end moves every second; a slider that is being dragged must not.
  const dragging = useRef(false);
  const [end, setEnd] = useState(to);
  useEffect(() => {
    if (dragging.current) return;
    setSlid(at ?? shown ?? to);
    setEnd(to);
  }, [at, shown, to]);
  // A year is typed digit by digit: only text until it is within the token's time.
  const [typed, setTyped] = useState<string | null>(null);
  const settle = (value: number) => {
    dragging.current = false;
    choose(value >= end ? undefined : value);
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2 print:hidden">
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
            dragging.current = true;
            setSlid(Number(event.target.value));
          }}
          onPointerUp={() => settle(slid)}
          onKeyUp={() => settle(slid)}
        />
      )}
      <Button look={given === undefined ? "strong" : "plain"} onClick={() => choose(undefined)}>
        {nowLabel}
      </Button>
    </div>
  );
};
