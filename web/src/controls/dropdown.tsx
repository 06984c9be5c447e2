/** A button that opens a panel below it; a click outside of it, or Escape, closes it. */
import { type ReactNode, useId, useRef, useState } from "react";
import { DownIcon } from "../shown/icons.tsx";
import { placeBeside } from "../shown/popover.ts";
import { buttonClass } from "./controls.tsx";

export const Dropdown = ({
  label,
  title,
  children,
}: {
  readonly label: ReactNode;
  readonly title?: string;
  readonly children: ReactNode;
}) => {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        ref={button}
        type="button"
        title={title}
        popoverTarget={id}
        aria-expanded={open}
        className={buttonClass("quiet")}
      >
        {label}
        <DownIcon />
      </button>
      <div
        id={id}
        popover="auto"
        onToggle={({ newState, currentTarget }) => {
          setOpen(newState === "open");
          if (newState === "open" && button.current !== null)
            placeBeside(currentTarget, button.current);
        }}
        className={`fixed inset-auto m-0 max-h-[80dvh] max-w-[92vw] overflow-auto rounded-lg border border-line bg-surface p-2 text-sm text-ink shadow-lg ${open ? "" : "invisible"}`}
      >
        {children}
      </div>
    </>
  );
};
