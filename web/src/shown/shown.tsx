/** Times as elements: exact text to read, and more of it on pointing. */
import { useEffect, useState } from "react";
import { isOnCalendar, momentText, relativeText } from "./moment.ts";

/** The current time, milliseconds, updated every so often while mounted. */
export const useNow = (everyMs = 1_000): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};

/** A time in milliseconds, or in ISO 8601. */
type At = { readonly at: number | string };

const msOf = (at: number | string): number => (typeof at === "number" ? at : Date.parse(at));

/** ISO 8601 with seconds, in UTC; undefined where a calendar cannot express it. */
export const isoText = (ms: number): string | undefined =>
  isOnCalendar(ms) ? `${new Date(ms).toISOString().slice(0, -5)}Z` : undefined;

/** A moment in UTC; `brief`, for tables: without seconds on a narrow screen, on two lines on a very narrow one. */
export const Moment = ({ at, brief = false }: At & { readonly brief?: boolean }) => {
  const ms = msOf(at);
  const text = momentText(ms);
  return (
    <time
      className="figures whitespace-nowrap"
      dateTime={isoText(ms)}
      title={brief ? text : undefined}
    >
      {brief ? (
        <>
          <span className="max-md:hidden">{text}</span>
          <span className="max-[359px]:hidden md:hidden">{text.slice(2, 16)}</span>
          <span className="block text-xs leading-none min-[360px]:hidden">
            {text.slice(2, 10)}
            <br />
            {text.slice(11, 16)}
          </span>
        </>
      ) : (
        text
      )}
    </time>
  );
};

/** `4 min ago`; the moment itself in the tooltip. */
export const Ago = ({ at }: At) => {
  const ms = msOf(at);
  const now = useNow(Math.abs(Date.now() - ms) < 120_000 ? 1_000 : 30_000);
  return (
    <time className="figures whitespace-nowrap" dateTime={isoText(ms)} title={momentText(ms)}>
      {relativeText(ms, now)}
    </time>
  );
};
