/** Labelled inputs. */
import { type InputHTMLAttributes, useId } from "react";

const INPUT =
  "h-8 w-full rounded-md border border-line bg-surface px-2.5 text-sm placeholder:text-muted";

export const TextField = ({
  label,
  className = "",
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & {
  readonly label: string;
}) => {
  const id = useId();
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-xs font-medium text-muted">
        {label}
      </label>
      <input id={id} className={INPUT} {...rest} />
    </div>
  );
};
