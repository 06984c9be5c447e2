/** Choosing a moment, kept in the page's address; absent for now. */
import { useEffect, useId, useRef, useState } from "react";
import { useMomentMs } from "../data/moment.ts";
import { useChangeAddress } from "../data/tokens.ts";
import { PRESETS, typedSeconds, typedText } from "../shown/calendar.ts";
import { CalendarIcon } from "../shown/icons.tsx";
import { fieldSeconds, fieldText } from "../shown/moment.ts";
import { Button, Choose } from "./controls.tsx";
import { TimeLine } from "./time-line.tsx";

/** A date and time in UTC, usual moments, a slider over the token's time, and a button for now. */
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
  const settle = (value: number) => {
    dragging.current = false;
    choose(value >= end ? undefined : value);
  };
  const usual = PRESETS.map((preset) => ({ ...preset, seconds: preset.at(to * 1_000) })).filter(
    (one) => one.seconds >= (from ?? 0) && one.label !== nowLabel,
  );
  const preset = given === undefined ? undefined : usual.find(({ seconds }) => seconds === at);
  return (
    <div className="flex min-w-0 flex-wrap items-start gap-2 print:hidden">
      <TimeField
        label={label}
        seconds={slid}
        from={from ?? 0}
        to={to}
        onChange={(seconds) => settle(seconds)}
      />
      <Choose
        label={`${label}, usual moments`}
        value={preset?.name ?? ""}
        choices={[
          { value: "", label: "Moments…" },
          ...usual.map((one) => ({ value: one.name, label: one.label })),
        ]}
        onChange={(chosen) => {
          const found = usual.find((one) => one.name === chosen);
          if (found !== undefined) choose(found.seconds);
        }}
      />
      <Button look={given === undefined ? "strong" : "plain"} onClick={() => choose(undefined)}>
        {nowLabel}
      </Button>
      {from === undefined || from >= to ? null : (
        <TimeLine
          label={`${label}, over the token's time`}
          from={from}
          to={end}
          at={slid}
          onSlide={(seconds) => {
            dragging.current = true;
            setSlid(seconds);
          }}
          onSettle={() => settle(slid)}
        />
      )}
    </div>
  );
};

/** A time as text in ISO 8601; the browser's calendar behind a button fills it in. */
const TimeField = ({
  label,
  seconds,
  from,
  to,
  onChange,
}: {
  readonly label: string;
  readonly seconds: number;
  /** Earlier ones are not taken. */
  readonly from: number;
  readonly to: number;
  readonly onChange: (seconds: number) => void;
}) => {
  const id = useId();
  const calendar = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const read = typed === null ? seconds : typedSeconds(typed);
  const fault =
    read === null
      ? "Such as 2026-05-04 13:02:11, or 2026-05-04 for its end"
      : read < from
        ? `The token begins at ${typedText(from)}`
        : null;
  const take = () => {
    if (typed !== null && read !== null && fault === null && read !== seconds) onChange(read);
    if (fault === null) setTyped(null);
  };
  return (
    <div className="min-w-0">
      <div className="flex items-center gap-2">
        <label htmlFor={id} className="text-xs font-medium text-muted">
          {label}
        </label>
        <span className="relative inline-flex">
          <input
            id={id}
            type="text"
            inputMode="numeric"
            spellCheck={false}
            autoComplete="off"
            aria-label={`${label}, UTC`}
            aria-invalid={fault !== null}
            aria-describedby={fault === null ? undefined : `${id}-fault`}
            className="figures h-8 w-50 rounded-md border border-line bg-surface pr-9 pl-2 text-sm aria-invalid:border-bad"
            value={typed ?? typedText(seconds)}
            onChange={({ target }) => {
              setTyped(target.value);
              // A whole time is taken at once, part of one with Enter or on leaving.
              const whole = target.value.length >= 19 ? typedSeconds(target.value) : null;
              if (whole !== null && whole >= from) onChange(whole);
            }}
            onKeyDown={({ key }) => {
              if (key === "Enter") take();
              if (key === "Escape") setTyped(null);
            }}
            onBlur={take}
          />
          <button
            type="button"
            aria-label={`${label}: choose on a calendar`}
            title="Choose on a calendar"
            className="absolute inset-y-0 right-0 grid w-8 place-items-center rounded-md text-muted hover:text-ink"
            onClick={() => calendar.current?.showPicker()}
          >
            <CalendarIcon />
          </button>
          <input
            ref={calendar}
            type="datetime-local"
            step={1}
            tabIndex={-1}
            aria-hidden="true"
            className="pointer-events-none absolute right-0 bottom-0 size-0 opacity-0"
            value={fieldText(seconds)}
            max={fieldText(to)}
            onChange={({ target }) => {
              const chosen = fieldSeconds(target.value);
              if (chosen !== null && chosen >= from) onChange(chosen);
              setTyped(null);
            }}
          />
        </span>
        <span className="text-xs text-muted">UTC</span>
      </div>
      {fault === null ? null : (
        <p id={`${id}-fault`} className="mt-1 text-xs text-bad">
          {fault}
        </p>
      )}
    </div>
  );
};
