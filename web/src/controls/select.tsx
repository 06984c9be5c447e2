/** A choice of one of several: the browser's own, which phones, keyboards and screen readers know. */
import { DownIcon } from "../shown/icons.tsx";

export type Choice<Value extends string> = { readonly value: Value; readonly label: string };

export const Choose = <Value extends string>({
  label,
  value,
  choices,
  onChange,
  className = "",
}: {
  /** For screen readers; the visible text is the chosen one. */
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
  readonly className?: string;
}) => (
  <span className={`relative inline-flex min-w-0 ${className}`}>
    <select
      aria-label={label}
      value={value}
      className="h-8 w-full min-w-0 cursor-pointer appearance-none truncate rounded-md border border-line bg-surface pr-8 pl-2.5 text-sm hover:bg-sunken"
      onChange={(event) => {
        const chosen = choices.find((choice) => choice.value === event.target.value);
        if (chosen !== undefined) onChange(chosen.value);
      }}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
    <span className="pointer-events-none absolute top-1/2 right-2.5 -translate-y-1/2 text-muted">
      <DownIcon />
    </span>
  </span>
);
