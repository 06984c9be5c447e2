/** Addresses, digests and ids: short to read, whole to copy, one click to the ledger's explorer. */
import { useEffect, useState } from "react";
import { type Explorer, useSettings } from "../data/settings.ts";
import { CheckIcon, CopyIcon, OutIcon } from "./icons.tsx";
import { shortened } from "./shorten.ts";

export { shortened };

/** A button that copies a text and says so. */
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
      className="inline-grid size-6 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink"
      onClick={(event) => {
        event.stopPropagation();
        void navigator.clipboard.writeText(text).then(() => setCopied(true));
      }}
    >
      {copied ? <CheckIcon /> : <CopyIcon />}
    </button>
  );
};

/** The explorer's address of a thing of the ledger, or null where none is set. */
export const explorerUrl = (
  explorer: Explorer,
  kind: keyof Explorer,
  value: string,
): string | null =>
  explorer[kind]?.replace(/\{[a-zA-Z]+\}/, () => encodeURIComponent(value)) ?? null;

/** A link out to the explorer; nothing where none is set. */
export const ExplorerLink = ({
  kind,
  value,
}: {
  readonly kind: keyof Explorer;
  readonly value: string;
}) => {
  const { explorer } = useSettings();
  const url = explorerUrl(explorer, kind, value);
  if (url === null) return null;
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`Show this ${kind} in the network's explorer`}
      title="Show in the network's explorer"
      className="inline-grid size-6 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink"
      onClick={(event) => event.stopPropagation()}
    >
      <OutIcon />
    </a>
  );
};

/** A long id: shortened, its whole text in the tooltip, a copy button, and the explorer where it is known. */
export const LongId = ({
  text,
  what,
  explorer,
  head,
  tail,
  children,
}: {
  readonly text: string;
  /** For the buttons: `address`, `digest`. */
  readonly what: string;
  readonly explorer?: keyof Explorer | undefined;
  readonly head?: number;
  readonly tail?: number;
  /** In place of the shortened text, such as a link around it. */
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
