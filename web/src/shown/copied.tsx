/** Addresses, digests and ids: short to read, whole to copy, with a link to the ledger's explorer. */
import { useEffect, useState } from "react";
import type { Explorer } from "../data/answers.ts";
import { useSettings } from "../data/session.ts";
import { CheckIcon, CopyIcon, OutIcon } from "./icons.tsx";
import { shortened } from "./shorten.ts";

/** A button that copies a text. */
export const CopyButton = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      aria-label={copied ? `Copied ${what}` : `Copy ${what}`}
      title={copied ? "Copied" : `Copy ${what}`}
      className="inline-grid size-6 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink print:hidden"
      onClick={(event) => {
        event.stopPropagation();
        void navigator.clipboard.writeText(text).then(() => setCopied(true));
      }}
    >
      {copied ? <CheckIcon /> : <CopyIcon />}
    </button>
  );
};

/** A link to the explorer; nothing without one. */
const ExplorerLink = ({
  kind,
  value,
}: {
  readonly kind: keyof Explorer;
  readonly value: string;
}) => {
  const page = useSettings().explorer?.[kind];
  // A path of this page is linked where the text is.
  if (page == null || page.startsWith("/")) return null;
  return (
    <a
      href={page.replace(/\{[a-zA-Z]+\}/, () => encodeURIComponent(value))}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`Show this ${kind} in the network's explorer`}
      title="Show in the network's explorer"
      className="inline-grid size-6 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink print:hidden"
      onClick={(event) => event.stopPropagation()}
    >
      <OutIcon />
    </a>
  );
};

/** A long id: shortened, whole in the tooltip, with a copy button and a link to the explorer. */
export const LongId = ({
  text,
  what,
  explorer,
  head,
  tail,
  children,
}: {
  readonly text: string;
  /** The name in labels of buttons: `address`, `digest`. */
  readonly what: string;
  readonly explorer?: keyof Explorer | undefined;
  readonly head?: number;
  readonly tail?: number;
  /** Instead of the shortened text, such as a link around it. */
  readonly children?: React.ReactNode;
}) => (
  <span className="inline-flex max-w-full items-center gap-0.5 whitespace-nowrap">
    <span className="min-w-0 overflow-hidden font-mono text-[0.92em] text-ellipsis" title={text}>
      {children ?? shortened(text, head, tail)}
    </span>
    <CopyButton text={text} what={what} />
    {explorer === undefined ? null : <ExplorerLink kind={explorer} value={text} />}
  </span>
);
