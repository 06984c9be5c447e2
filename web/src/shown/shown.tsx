/** Amounts, times and the like as elements: exact text to read, and to select or point at for more. */
import { useEffect, useState } from "react";
import { amountText, changeText } from "./amount.ts";
import { momentText, relativeText } from "./moment.ts";

/** An exact amount; its smallest units in the tooltip. */
export const Amount = ({
  units,
  decimals,
  signed = false,
  fixed = false,
  symbol,
}: {
  readonly units: bigint;
  readonly decimals: number | null;
  readonly signed?: boolean;
  /** With all decimals, for columns. */
  readonly fixed?: boolean;
  readonly symbol?: string | null;
}) => (
  <span className="figures whitespace-nowrap" title={`${units} in the smallest unit`}>
    {(signed ? changeText : amountText)(units, decimals, fixed)}
    {symbol ? <span className="text-muted"> {symbol}</span> : null}
  </span>
);

/** The current time, milliseconds, renewed every so often while mounted. */
export const useNow = (everyMs = 1_000): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};

/** A moment in UTC; `brief`, for tables: without seconds where the screen is narrow. */
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
          <span className="md:hidden">{text.slice(2, 16)}</span>
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
