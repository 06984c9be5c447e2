/** How the page stands to its service, as every view shows it. */
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { onReturn } from "../data/contact.ts";
import { useTokenSearch } from "../data/here.ts";
import { isReplaced } from "../data/part.ts";
import { useService } from "../data/service.tsx";
import { countText } from "../shown/amount.ts";

const DOTS = { plain: "bg-muted", good: "bg-good", warn: "bg-warn", bad: "bg-bad" } as const;

/** How the service is, and how far the register goes: in words, and live. */
export const Freshness = ({ short = false }: { readonly short?: boolean }) => {
  const {
    state: { word, tone, detail },
    checkpoint,
  } = useService();
  const kept = useTokenSearch();
  return (
    <Link
      to="/status"
      search={kept}
      className="inline-flex items-center gap-2 rounded-md px-2 py-1 text-xs hover:bg-sunken"
      aria-live="polite"
      title={detail ?? undefined}
    >
      <span className={`size-2 shrink-0 rounded-full ${DOTS[tone]}`} aria-hidden="true" />
      <span className="font-medium">{word}</span>
      {short || checkpoint === null ? null : (
        <span className="figures text-muted">{countText(checkpoint)}</span>
      )}
    </Link>
  );
};

/** What concerns every view: nobody answers, or there is a newer page. */
export const Alerts = () => {
  const {
    state: { kind, word, detail },
  } = useService();
  const [replaced, setReplaced] = useState(false);
  // A service that was away may have come back as a newer one.
  useEffect(
    () =>
      onReturn(() => {
        void isReplaced().then((isSo) => isSo && setReplaced(true));
      }),
    [],
  );
  return (
    <div role="status">
      {kind === "lost" ? (
        <div className="border-b border-line bg-bad-soft px-4 py-1.5 text-xs md:px-7">
          <strong className="font-semibold text-bad">{word}.</strong> {detail}
        </div>
      ) : null}
      {replaced ? (
        <div className="border-b border-line bg-warn-soft px-4 py-1.5 text-xs md:px-7">
          <strong className="font-semibold text-warn">
            A newer version of this page is there.
          </strong>{" "}
          Reload when it suits you; you will be asked for the key again.
        </div>
      ) : null}
    </div>
  );
};
