/** A range of days, as the address has it in `from` and `to`: `2026-05-04`, both included, in UTC. */
import { useState } from "react";
import { TextField } from "../../controls/controls.tsx";
import { useChangeAddress } from "../../data/tokens.ts";

const DAY = /^\d{4}-\d\d-\d\d$/;

const secondsOf = (day: string | undefined): number | null => {
  const ms = day !== undefined && DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(ms) ? null : ms / 1_000;
};

/** Arguments of a list of events; null without a bound. */
export type DayRange = {
  readonly fromTimestamp: string | null;
  readonly toTimestamp: string | null;
};

export const dayRange = ({
  from,
  to,
}: {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}): DayRange => {
  const [first, last] = [secondsOf(from), secondsOf(to)];
  return {
    fromTimestamp: first === null ? null : String(first),
    toTimestamp: last === null ? null : String(last + 86_399),
  };
};

/** Whether no digit of the year is missing: a year that is typed is 0002, 0020 and 0202 before 2026. */
const isWhole = (day: string): boolean => day === "" || !day.startsWith("0");

/** A day in the page's address. */
export const DayField = ({
  name,
  label,
  day,
}: {
  readonly name: "from" | "to";
  readonly label: string;
  readonly day: string | undefined;
}) => {
  const change = useChangeAddress();
  // The address changes later than the field, which would undo a digit.
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextField
      type="date"
      label={label}
      className="w-36"
      value={typed ?? (secondsOf(day) === null ? "" : day)}
      onChange={({ target: { value } }) => {
        setTyped(value);
        if (isWhole(value)) change({ [name]: value || undefined });
      }}
      onBlur={() => setTyped(null)}
    />
  );
};
