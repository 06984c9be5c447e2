/** What every view offers to take along: its title, a link to what is seen, and a print of it. */
import { useRouter, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { ask, graph } from "../data/ask.ts";
import { checkpointOf, momentAt, useMomentMs } from "../data/moment.ts";
import { useRoute } from "../data/route.ts";
import { useService } from "../data/service.tsx";
import { useSessionControl, useSettings } from "../data/session.ts";
import { tokenLabel, tokenName, useToken } from "../data/tokens.ts";
import { countText } from "../shown/amount.ts";
import { CheckIcon, LinkIcon, PrintIcon } from "../shown/icons.tsx";
import { fromSeconds, momentText } from "../shown/moment.ts";
import { Button } from "./controls.tsx";

/** `Cap table · ACME · Holderbook`, in the browser's tabs, bookmarks and history. */
export const useTitle = (title: string): void => {
  const { ofToken } = useRoute();
  const token = useToken();
  const label = ofToken && token !== null ? ` · ${tokenLabel(token)}` : "";
  useEffect(() => {
    document.title = `${title}${label} · Holderbook`;
  }, [title, label]);
};

/** The address of what is seen, with its token and its checkpoint, also where the view shows the newest. */
const useLinkHere = (shown: string | undefined): (() => string) => {
  const { ofToken, moment } = useRoute();
  const token = useToken();
  const router = useRouter();
  const { checkpoint } = useService();
  const newest = shown ?? checkpoint;
  return () => {
    const { pathname, search } = router.state.location;
    const all: Record<string, unknown> = { ...search };
    if (ofToken && token !== null) all.token = token.coinType;
    if (moment !== undefined && newest !== null) {
      all[moment] ??= moment === "at" ? momentAt(newest) : newest;
    }
    return new URL(`${pathname}${router.options.stringifySearch(all)}`, location.href).href;
  };
};

const DONE_MS = 1_500;

const CopyLink = ({ checkpoint }: { readonly checkpoint: string | undefined }) => {
  const here = useLinkHere(checkpoint);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), DONE_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button
      look="quiet"
      className="px-2"
      title="Copy a link to what is shown, with its token and checkpoint"
      onClick={() => void navigator.clipboard.writeText(here()).then(() => setCopied(true))}
    >
      {copied ? <CheckIcon /> : <LinkIcon />}
      <span className="max-sm:sr-only" aria-live="polite">
        {copied ? "Copied" : "Copy link"}
      </span>
    </Button>
  );
};

const sourceQuery = graph(`query PrintedSource($coinType: String!, $checkpoint: String!) {
  capTable(coinType: $coinType, atCheckpoint: $checkpoint, limit: 1) { root checkpointTimestamp }
}`);

type Source = { readonly checkpoint: string; readonly timeMs?: number; readonly root?: string };

/** Prints the view, once the register's root at its checkpoint is known; without it where the service does not answer. */
const usePrint = (shown: string | undefined) => {
  const { ofToken } = useRoute();
  const token = useToken();
  const { checkpoint: newest } = useService();
  const { at } = useSearch({ strict: false });
  const { session } = useSessionControl();
  const checkpoint = shown ?? checkpointOf(at) ?? newest;
  const [source, setSource] = useState<Source | null>(null);
  const print = useCallback(async () => {
    let found: Source | null = checkpoint === null ? null : { checkpoint };
    if (ofToken && token !== null && session !== null && checkpoint !== null) {
      const about = await ask(
        sourceQuery,
        { coinType: token.coinType, checkpoint },
        { key: session.key },
      ).catch(() => null);
      if (about?.capTable != null) {
        const { root, checkpointTimestamp } = about.capTable;
        found = { checkpoint, root, timeMs: fromSeconds(checkpointTimestamp) };
      }
    }
    flushSync(() => setSource(found));
    window.print();
  }, [ofToken, token, session, checkpoint]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "p" || !(event.ctrlKey || event.metaKey)) return;
      if (event.shiftKey || event.altKey) return;
      event.preventDefault();
      void print();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [print]);
  return { print, source: source ?? (checkpoint === null ? null : { checkpoint }) };
};

/** Buttons at the head of a view, and on paper the head of its first page. */
export const Share = ({
  title,
  checkpoint,
}: {
  readonly title: string;
  /** Of what is shown; the newest without it. */
  readonly checkpoint?: string | undefined;
}) => {
  useTitle(title);
  const { print, source } = usePrint(checkpoint);
  return (
    <>
      <span className="inline-flex max-sm:absolute max-sm:-top-0.5 max-sm:right-0 print:hidden">
        <CopyLink checkpoint={checkpoint} />
        <Button
          look="quiet"
          className="px-2"
          aria-label="Print"
          title="Print what is shown, or save it as PDF"
          onClick={() => void print()}
        >
          <PrintIcon />
        </Button>
      </span>
      <PaperHead source={source} />
    </>
  );
};

/** Source of a print: token, checkpoint, time, root. */
const PaperHead = ({ source }: { readonly source: Source | null }) => {
  const { ofToken } = useRoute();
  const token = useToken();
  const { at } = useSearch({ strict: false });
  const atMs = useMomentMs(at);
  const { network } = useSettings();
  const timeMs = source?.timeMs ?? atMs;
  const lines = [
    ["Network", network ?? "unnamed"],
    ["Token", ofToken && token !== null ? `${tokenName(token)} (${tokenLabel(token)})` : null],
    ["Coin type", ofToken && token !== null ? token.coinType : null],
    ["Checkpoint", source === null ? null : countText(source.checkpoint)],
    ["Time", timeMs === undefined ? null : momentText(timeMs)],
    ["Root of all rows", source?.root ?? null],
    ["Printed", momentText(Date.now())],
  ] as const;
  return (
    <dl className="hidden w-full grid-cols-[auto_1fr] gap-x-4 border-y border-line py-2 text-xs print:grid">
      {lines.map(([name, text]) =>
        text === null ? null : (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="break-all">{text}</dd>
          </div>
        ),
      )}
    </dl>
  );
};
