/** States of requests, callbacks and receivers in words, and the counts above their lists. */
import type { ReactNode } from "react";
import type { Choice } from "../controls/controls.tsx";
import type { Attempt, Delivery, Receivers, Requests, Summary } from "../data/answers.ts";
import { usePath } from "../data/queries.ts";
import { countText } from "../shown/amount.ts";
import { Ago } from "../shown/shown.tsx";
import { AsOf, Loading } from "./answered.tsx";
import { Badge, Figure, Figures, type Tone } from "./blocks.tsx";

type RequestItem = Requests["items"][number];

type State = { readonly tone: Tone; readonly word: string; readonly means: string };

const REQUEST: Readonly<Record<string, State>> = {
  QUEUED: { tone: "accent", word: "Queued", means: "Accepted; not started" },
  PENDING: { tone: "accent", word: "In progress", means: "Started; not final" },
  SUCCESS: { tone: "good", word: "Done", means: "Final: succeeded" },
  FAILED: { tone: "bad", word: "Failed", means: "Final: not done" },
};

/** How a final request ended: not every FAILED one failed. */
const OUTCOME: Readonly<Record<string, State>> = {
  done: { tone: "good", word: "Done", means: "Final: what was asked is done" },
  already_done: {
    tone: "good",
    word: "Already whitelisted",
    means: "Final: the wallet was whitelisted before; nothing was to do",
  },
  done_undelivered: {
    tone: "warn",
    word: "Done, result not delivered",
    means: "Final: done; its callback was given up",
  },
  failed: { tone: "bad", word: "Failed", means: "Final: not done" },
};

const DELIVERY: Readonly<Record<string, State>> = {
  pending: { tone: "accent", word: "In progress", means: "Retried until the last attempt" },
  delivered: { tone: "good", word: "Delivered", means: "The receiver answered with success" },
  failed: { tone: "bad", word: "Given up", means: "Never delivered: the last attempt failed" },
  disabled: { tone: "bad", word: "Endpoint disabled", means: "Given up: the endpoint is disabled" },
  withdrawn: {
    tone: "warn",
    word: "On hold",
    means: "The endpoint was removed from the settings; sent once it is back",
  },
};

const RECEIVER: Readonly<Record<string, State>> = {
  open: { tone: "good", word: "Open", means: "Callbacks are sent to it" },
  failing: { tone: "warn", word: "Failing", means: "The newest attempt failed; retrying" },
  disabled: { tone: "bad", word: "Disabled", means: "Nothing is sent; new callbacks are given up" },
  withdrawn: {
    tone: "warn",
    word: "Withdrawn",
    means: "Removed from the settings; callbacks wait for it",
  },
  paused: { tone: "warn", word: "Paused", means: "An operator paused it; callbacks wait" },
};

/** The state of a newer service is shown as it is. */
const StateBadge = ({
  of: state,
  words,
}: {
  readonly of: string;
  readonly words: typeof REQUEST;
}) => {
  const { tone, word, means } = words[state] ?? { tone: "plain", word: state, means: state };
  return (
    <span title={means}>
      <Badge tone={tone}>{word}</Badge>
    </span>
  );
};

export const RequestBadge = ({
  of: { status, outcome },
}: {
  readonly of: Pick<RequestItem, "status" | "outcome">;
}) =>
  outcome === null ? (
    <StateBadge of={status} words={REQUEST} />
  ) : (
    <StateBadge of={outcome} words={OUTCOME} />
  );

/** Delivered once is delivered, also while it is sent again. */
export const DeliveryBadge = ({
  of: { state, deliveredAt },
}: {
  readonly of: Pick<Delivery, "state" | "deliveredAt">;
}) => (
  <span className="inline-flex flex-wrap gap-1">
    <StateBadge of={deliveredAt === null ? state : "delivered"} words={DELIVERY} />
    {deliveredAt !== null && state === "pending" ? (
      <Badge tone="accent">sending again</Badge>
    ) : null}
  </span>
);

export const ReceiverBadge = ({ of: state }: { readonly of: string }) => (
  <StateBadge of={state} words={RECEIVER} />
);

const choicesOf = (words: Readonly<Record<string, State>>): readonly Choice<string>[] =>
  Object.entries(words).map(([value, { word }]) => ({ value, label: word }));

export const REQUEST_CHOICES: readonly Choice<string>[] = [
  { value: "", label: "All statuses" },
  { value: "OPEN", label: "Open" },
  ...choicesOf(REQUEST).filter(({ value }) => value !== "FAILED"),
  // One status with several outcomes, which the rows show.
  { value: "FAILED", label: "Failed, already done, undelivered" },
];
export const DELIVERY_CHOICES: readonly Choice<string>[] = [
  { value: "", label: "All states" },
  ...choicesOf(DELIVERY),
];

const KINDS: Readonly<Record<string, string>> = {
  kyc: "KYC status",
  transfer_event: "Transfer event",
  test: "Test event",
  whitelist: "Whitelist",
};

/** A kind of request or callback in words. */
export const kindText = (kind: string): string => KINDS[kind] ?? kind;

/** How an attempt ended: `HTTP 204`, `HTTP 500 · not a success`, `connection refused`. */
export const attemptText = ({ statusCode, error }: Attempt): string =>
  [statusCode === null ? null : `HTTP ${statusCode}`, error]
    .filter((part) => part !== null)
    .join(" · ");

/** A count that stops somewhere: `10,000+`. */
export const boundedText = (count: number, end: number): string =>
  count >= end ? `${countText(end)}+` : countText(count);

/** They change with the settings, and where a delivery fails, which is in the counts. Milliseconds. */
const RECEIVERS_MS = 60_000;

/** All on the first page of receivers; a deployment has few. */
export const useReceivers = () =>
  usePath<Receivers>("/operator/receivers?limit=200", { everyMs: RECEIVERS_MS });

export const receiverChoices = (receivers: Receivers | undefined): readonly Choice<string>[] => [
  { value: "", label: "All receivers" },
  ...(receivers?.items ?? []).map(({ id, name, url }) => ({
    value: id,
    label: `${name} · ${url}`,
  })),
];

/** The service counts no further. */
const COUNTED = 10_000;

/** Intervals of counting, milliseconds: while something is under way, and while nothing is. */
const COUNTS_EVERY_MS = 3_000;
const COUNTS_IDLE_MS = 30_000;

const isBusy = ({ requests, deliveries }: Summary): boolean =>
  requests.open + deliveries.pending > 0;

/** Figures of the summary above a list; `figure` bounds what it counts. */
export const Counts = ({
  children,
}: {
  readonly children: (
    summary: Summary,
    figure: (label: string, count: number, about: ReactNode, tone?: Tone) => ReactNode,
  ) => ReactNode;
}) => {
  const summary = usePath<Summary>("/operator/summary", {
    everyMs: (counts) =>
      counts !== undefined && isBusy(counts) ? COUNTS_EVERY_MS : COUNTS_IDLE_MS,
  });
  const { data, error } = summary;
  if (data === undefined) {
    return error === null ? (
      <Loading lines={3} />
    ) : (
      <p role="status" className="mb-4 text-xs text-warn">
        The counts could not be read: {error.message}
      </p>
    );
  }
  return (
    <div className="mb-4">
      <AsOf of={summary} />
      <Figures>
        {children(data, (label, count, about, tone = "plain") => (
          <Figure
            label={label}
            value={boundedText(count, COUNTED)}
            about={about}
            tone={count > 0 ? tone : "plain"}
          />
        ))}
      </Figures>
    </div>
  );
};

/** Callbacks that are not delivered yet. */
export const oldestText = ({ deliveries: { oldestPendingAt } }: Summary): ReactNode =>
  oldestPendingAt === null ? (
    "nothing waiting"
  ) : (
    <>
      oldest <Ago at={oldestPendingAt} />
    </>
  );
