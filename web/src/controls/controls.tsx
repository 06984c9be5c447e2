/** Buttons, inputs and choices. */
import {
  type ButtonHTMLAttributes,
  type InputHTMLAttributes,
  type ReactNode,
  useId,
  useState,
} from "react";
import { askFile, save } from "../data/ask.ts";
import { useSession } from "../data/session.ts";
import { DownIcon, SaveIcon } from "../shown/icons.tsx";

type ButtonLook = "plain" | "strong" | "quiet";

const LOOKS: Readonly<Record<ButtonLook, string>> = {
  plain: "border border-line bg-surface text-ink hover:bg-sunken",
  strong: "border border-transparent bg-accent text-on-accent hover:opacity-90",
  quiet: "border border-transparent text-muted hover:bg-sunken hover:text-ink",
};

/** Classes of a button, for elements that act like one. */
export const buttonClass = (look: ButtonLook = "plain"): string =>
  `inline-flex h-8 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:pointer-events-none disabled:opacity-50 print:hidden ${LOOKS[look]}`;

export const Button = ({
  look = "plain",
  className = "",
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { readonly look?: ButtonLook }) => (
  <button type="button" className={`${buttonClass(look)} ${className}`} {...rest} />
);

/** A button of a group, pressed while it is the chosen one. */
export const Chip = ({
  pressed,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { readonly pressed: boolean }) => (
  <Button look={pressed ? "strong" : "plain"} aria-pressed={pressed} {...rest} />
);

export const TextField = ({
  label,
  className = "",
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { readonly label: string }) => {
  const id = useId();
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-xs font-medium text-muted">
        {label}
      </label>
      <input
        id={id}
        className="h-8 w-full rounded-md border border-line bg-surface px-2.5 text-sm placeholder:text-muted"
        {...rest}
      />
    </div>
  );
};

export type Choice<Value extends string> = { readonly value: Value; readonly label: string };

/** A choice of one of several: the browser's own, which phones, keyboards and screen readers know. */
export const Choose = <Value extends string>({
  label,
  value,
  choices,
  onChange,
  className = "",
}: {
  /** For screen readers; visible is the chosen one. */
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

/** Runs one action at a time: whether it runs, and why the last one failed. */
export const useAction = () => {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const run = async (act: () => Promise<void>) => {
    setBusy(true);
    setFault(null);
    try {
      await act();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, fault, setFault, run };
};

/** A button that saves a path's answer as a file; an error is shown beside it. */
export const Download = ({
  path,
  as: fileName,
  title,
  disabled = false,
  children,
}: {
  readonly path: string;
  /** Whether the path is not known yet. */
  readonly disabled?: boolean;
  /** The file's name, where the service does not give one. */
  readonly as?: string;
  readonly title?: string;
  readonly children: ReactNode;
}) => {
  const { key } = useSession();
  const { busy, fault, run } = useAction();
  const download = async () => {
    const { blob, name } = await askFile(path, { key });
    save({ blob, name: fileName ?? name });
  };
  return (
    <>
      {fault === null ? null : (
        <span role="alert" className="text-xs text-bad">
          {fault}
        </span>
      )}
      <Button title={title} disabled={busy || disabled} onClick={() => void run(download)}>
        <SaveIcon />
        {busy ? "Preparing…" : children}
      </Button>
    </>
  );
};
