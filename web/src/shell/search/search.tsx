/** The field that opens the search, on every view: also with Ctrl-K and /. */
import { useEffect, useState } from "react";
import { part, usePart } from "../../data/part.ts";
import { SearchIcon } from "../../shown/icons.tsx";

/** Loaded with the rest of the page: no first view needs it. */
const dialog = part(() => import("./dialog.tsx"));

type Page = { readonly to: string; readonly label: string };

/** Whether a key that is pressed there is text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const isShortcut = (event: KeyboardEvent): boolean => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) return true;
  const isPlain = !(event.ctrlKey || event.metaKey || event.altKey);
  return event.key === "/" && isPlain && !isTyping(event.target);
};

/** Opens on its shortcuts. @param pages views that are found by their names */
export const useSearchDialog = (pages: readonly Page[]) => {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return {
    show: () => setOpen(true),
    shown: open ? <Loaded pages={pages} onClose={() => setOpen(false)} /> : null,
  };
};

const Loaded = (props: { readonly pages: readonly Page[]; readonly onClose: () => void }) => {
  const now = usePart(dialog);
  return now.state === "loaded" ? <now.module.default {...props} /> : null;
};

/** @param short an icon alone, where there is little room */
export const SearchField = ({
  short = false,
  onOpen,
}: {
  readonly short?: boolean;
  readonly onOpen: () => void;
}) => (
  <button
    type="button"
    aria-label={short ? "Search" : undefined}
    aria-keyshortcuts="Control+K /"
    title="Search (Ctrl-K or /)"
    className={`flex h-8 items-center gap-2 rounded-md text-sm text-muted hover:bg-sunken hover:text-ink ${short ? "px-2" : "w-full border border-line bg-surface px-2.5"}`}
    onClick={onOpen}
  >
    <SearchIcon />
    {short ? null : (
      <>
        <span className="grow text-left">Search</span>
        <kbd aria-hidden className="rounded border border-line px-1 font-sans text-xs">
          Ctrl K
        </kbd>
      </>
    )}
  </button>
);
