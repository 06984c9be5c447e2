/** The states of an answer: loading, failed, there, or there and out of date. */
import { useMutation } from "@tanstack/react-query";
import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useContext, useLayoutEffect, useRef } from "react";
import { Button } from "../controls/controls.tsx";
import { AskError, ask, graph, type Quarantine } from "../data/ask.ts";
import { isRefused } from "../data/queries.ts";
import { useService } from "../data/service.tsx";
import { SessionContext, useSession } from "../data/session.ts";
import { type Token, tokenLabel, useToken, useTokens } from "../data/tokens.ts";
import { countText } from "../shown/amount.ts";
import { clockText } from "../shown/moment.ts";
import { Card, Empty } from "./blocks.tsx";

/** A query, as far as showing its answer needs it. */
export type Answer<Data> = {
  readonly data: Data | undefined;
  readonly error: Error | null;
  /** False for what never changes. */
  readonly isStale: boolean;
  /** Milliseconds. */
  readonly dataUpdatedAt: number;
  refetch(): unknown;
};

/** An answer that cannot be refreshed stays, with its time; only a refusal takes its place. */
export const Answered = <Data,>({
  of: answer,
  what,
  lines = 4,
  card = false,
  waiting,
  missing,
  children,
}: {
  readonly of: Answer<Data>;
  /** The subject of messages: "The cap table". */
  readonly what: string;
  /** Lines of the placeholder. */
  readonly lines?: number;
  /** Whether the placeholder needs a card of its own, as the answer brings one. */
  readonly card?: boolean;
  /** Above the placeholder. */
  readonly waiting?: ReactNode;
  /** Instead of an error, when the service has no such thing. */
  readonly missing?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}) => {
  const { data, error } = answer;
  const inPlace = (shown: ReactNode) => (card ? <Card>{shown}</Card> : shown);
  const isMissing = error instanceof AskError && (error.status === 404 || error.status === 400);
  if (isMissing && missing !== undefined) return inPlace(missing);
  if (error !== null && (data === undefined || isRefused(error))) {
    return inPlace(<Failed error={error} what={what} onRetry={() => void answer.refetch()} />);
  }
  if (data === undefined) {
    return inPlace(
      <>
        {waiting}
        <Loading lines={lines} />
      </>,
    );
  }
  return (
    <>
      <AsOf of={answer} flush={card} />
      {children(data)}
    </>
  );
};

/** The time of an answer that could not be refreshed; nothing for a fresh one. */
export const AsOf = ({
  of: { data, error, isStale, dataUpdatedAt },
  flush = false,
}: {
  readonly of: Answer<unknown>;
  /** Outside of a card. */
  readonly flush?: boolean;
}) => {
  const { lost } = useService();
  if (data === undefined || (error === null && !(lost && isStale))) return null;
  return (
    <p role="status" className={`text-xs text-warn ${flush ? "mb-2" : "px-4 py-1.5"}`}>
      As of {clockText(dataUpdatedAt, Date.now())}, not refreshed since
      {error === null || lost ? "" : `: ${error.message}`}
    </p>
  );
};

/** A placeholder of so many lines of text; what stands below it waits with it. */
export const Loading = ({ lines = 4 }: { readonly lines?: number }) => {
  const placeholder = useRef<HTMLDivElement>(null);
  useLoadingMark(placeholder);
  return (
    <div ref={placeholder} role="status" aria-label="Loading" className="space-y-2 px-4 py-4">
      {Array.from({ length: lines }, (_, line) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
          key={line}
          className="h-4 motion-safe:animate-pulse rounded bg-sunken"
        />
      ))}
    </div>
  );
};

/**
 * Marks the placeholder and its ancestors as `data-loading`, which hides what follows them (styles.css). A `:has()` rule
 * would be evaluated again for every row drawn while scrolling.
 */
const useLoadingMark = (placeholder: RefObject<HTMLElement | null>) =>
  useLayoutEffect(() => {
    const marked: HTMLElement[] = [];
    let at = placeholder.current;
    while (at !== null && at.id !== "content") {
      marked.push(at);
      at = at.parentElement;
    }
    if (at === null) return;
    for (const element of marked) count(element, 1);
    return () => {
      for (const element of marked) count(element, -1);
    };
  }, [placeholder]);

const count = ({ dataset }: HTMLElement, by: 1 | -1) => {
  const placeholders = Number(dataset.loading ?? 0) + by;
  if (placeholders > 0) dataset.loading = `${placeholders}`;
  else delete dataset.loading;
};

/** Instead of what failed: why, and a button. */
export const Fault = ({
  title,
  requestId = null,
  action,
  onAction,
  children,
}: {
  readonly title: string;
  readonly requestId?: string | null;
  readonly action: string;
  readonly onAction: () => void;
  readonly children: ReactNode;
}) => (
  <div role="alert" className="px-4 py-6 text-center text-sm">
    <div className="font-medium">{title}</div>
    <div className="mx-auto mt-1 max-w-prose break-words text-muted">{children}</div>
    {requestId === null ? null : (
      <div className="mt-1 font-mono text-xs text-muted">request {requestId}</div>
    )}
    <Button className="mt-3" onClick={onAction}>
      {action}
    </Button>
  </div>
);

const timeQuery = graph(`query CheckpointTime($checkpoint: String!) {
  _meta(atCheckpoint: $checkpoint) { checkpointTimestamp }
}`);

/** Pages that show a moment. */
const PAGES_AT = /^\/(cap-table|holder|wallet|roles)\b/;

/** A token in quarantine, or incomplete: why it is not shown, and a way to its state before. */
const InQuarantine = ({ quarantine }: { readonly quarantine: Quarantine }) => {
  const { coinType, checkpoint, reason, isIncomplete } = quarantine;
  const { key } = useSession();
  const navigate = useNavigate();
  const here = useLocation().pathname;
  const before = useMutation({
    mutationFn: async () => {
      const { _meta } = await ask(timeQuery, { checkpoint }, { key });
      if (_meta?.checkpointTimestamp == null) return;
      // The end of the second before: another checkpoint may share the second.
      const at = `${Number(_meta.checkpointTimestamp) - 1}`;
      const to = PAGES_AT.test(here) ? "." : "/cap-table";
      await navigate({ to, search: { token: coinType, at } });
    },
  });
  return (
    <Fault
      title={`${tokenLabel({ coinType, symbol: null })} is ${isIncomplete ? "incomplete" : "in quarantine"} since checkpoint ${countText(checkpoint)}`}
      action="Show the state before"
      onAction={() => before.mutate()}
    >
      <p>
        {isIncomplete
          ? "A change of one of its objects was not read: nothing is shown from there on."
          : "A fact of this token could not be applied: nothing is shown from there on."}
      </p>
      <p>{reason}</p>
    </Fault>
  );
};

/** A failed query: why, and what to do. */
export const Failed = ({
  error,
  what,
  onRetry,
}: {
  readonly error: Error;
  /** "The cap table". */
  readonly what: string;
  readonly onRetry: () => void;
}) => {
  const control = useContext(SessionContext);
  const refusal = error instanceof AskError ? error : null;
  if (refusal?.quarantine != null) return <InQuarantine quarantine={refusal.quarantine} />;
  // Revoked while the page was open: only another key helps.
  const keyGone = refusal?.status === 401 && control?.session != null;
  const isRebuilding = refusal?.code === "REBUILDING";
  const message = keyGone
    ? "The key of this page was revoked or has expired."
    : isRebuilding
      ? "The service is rebuilding it from its log; no data is lost. It appears here once complete."
      : error.message;
  return (
    <Fault
      title={isRebuilding ? `${what} is being rebuilt` : `${what} could not be read`}
      requestId={refusal?.requestId ?? null}
      action={keyGone ? "Sign in again" : "Try again"}
      onAction={keyGone ? () => control.signOut() : onRetry}
    >
      {message}
      {keyGone || isRebuilding || isRefused(error) ? "" : " The page retries automatically."}
    </Fault>
  );
};

/** A view of the token in the address. A token that was read stays while it cannot be read again. */
export const OfToken = ({ children }: { readonly children: (token: Token) => ReactNode }) => {
  const { data, error, refetch } = useTokens();
  const token = useToken();
  if (error !== null && (data === undefined || isRefused(error))) {
    return <Failed error={error} what="The tokens" onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Loading lines={8} />;
  if (token !== null) return children(token);
  return (
    <Empty title={data.tokens?.length ? "Unknown token" : "No tokens yet"}>
      A token appears here with its first movement on the ledger. See{" "}
      <Link to="/status" className="text-accent underline">
        Status
      </Link>{" "}
      for how far the ledger has been read.
    </Empty>
  );
};
