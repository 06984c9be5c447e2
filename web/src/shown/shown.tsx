/** Times as elements: exact text to read, and to select or point at for more. */
import { useEffect, useState } from "react";
import { momentText, relativeText } from "./moment.ts";

/** The current time, milliseconds, renewed every so often while mounted. */
export const useNow = (everyMs = 1_000): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};

/** A moment in UTC; `brief`, for tables: without seconds where the screen is narrow, on two lines where very. */
export const Moment = ({
  ms,
  brief = false,
}: {
  readonly ms: number;
  readonly brief?: boolean;
}) => {
  const text = momentText(ms);
  return (
    <time
      className="figures whitespace-nowrap"
      dateTime={Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined}
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

/** `4 min ago`, the moment itself in the tooltip. */
export const Ago = ({ ms }: { readonly ms: number }) => {
  const now = useNow(Math.abs(Date.now() - ms) < 120_000 ? 1_000 : 30_000);
  return (
    <time className="figures whitespace-nowrap" title={momentText(ms)}>
      {relativeText(ms, now)}
    </time>
  );
};
