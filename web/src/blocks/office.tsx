/** States of requests, deliveries and addresses in words, the same on every page. */
import type { Choice } from "../controls/select.tsx";
import type { Attempt } from "../data/operator.ts";
import { countText } from "../shown/amount.ts";
import { relativeText } from "../shown/moment.ts";
import { useNow } from "../shown/shown.tsx";
import { Badge, type Tone } from "./blocks.tsx";

type Said = { readonly tone: Tone; readonly word: string; readonly means: string };

const REQUEST: Readonly<Record<string, Said>> = {
  QUEUED: { tone: "accent", word: "Queued", means: "Accepted; its work has not begun" },
  PENDING: { tone: "accent", word: "In progress", means: "Taken up; not final" },
  SUCCESS: { tone: "good", word: "Done", means: "Final: it was done" },
  FAILED: {
    tone: "bad",
    word: "Failed",
    means: "Final: it was not done, or its result not delivered",
  },
};

const DELIVERY: Readonly<Record<string, Said>> = {
  pending: { tone: "accent", word: "On its way", means: "It is tried until the last attempt" },
  delivered: { tone: "good", word: "Delivered", means: "The receiver answered with success" },
  failed: { tone: "bad", word: "Given up", means: "The last attempt failed, too" },
  disabled: {
    tone: "bad",
    word: "Address disabled",
    means: "Given up because the receiver wants nothing more",
  },
  withdrawn: {
    tone: "warn",
    word: "On hold",
    means: "Its address is configured no more; it is sent once it is again",
  },
};

const RECEIVER: Readonly<Record<string, Said>> = {
  open: { tone: "good", word: "Open", means: "Messages are sent to it" },
  failing: { tone: "warn", word: "Failing", means: "The newest attempts failed; they go on" },
  disabled: {
    tone: "bad",
    word: "Disabled",
    means: "It wants nothing more; what comes is given up",
  },
  withdrawn: { tone: "warn", word: "Withdrawn", means: "Configured no more; what comes waits" },
};

const SaidBadge = ({ said: { tone, word, means } }: { readonly said: Said }) => (
  <span title={means}>
    <Badge tone={tone}>{word}</Badge>
  </span>
);

/** States of a later service stay readable. */
const saidOf = (words: Readonly<Record<string, Said>>, state: string): Said =>
  words[state] ?? { tone: "plain", word: state, means: state };

const choicesOf = (words: Readonly<Record<string, Said>>): readonly Choice<string>[] =>
  Object.entries(words).map(([value, { word }]) => ({ value, label: word }));

/** For choosing one of them, or all. */
export const REQUEST_CHOICES: readonly Choice<string>[] = [
  { value: "", label: "All requests" },
  { value: "OPEN", label: "Not final yet" },
  ...choicesOf(REQUEST),
];
export const DELIVERY_CHOICES: readonly Choice<string>[] = [
  { value: "", label: "All states" },
  ...choicesOf(DELIVERY),
];

/** Of `TaRequest.status`. */
export const RequestBadge = ({ of }: { readonly of: string }) => (
  <SaidBadge said={saidOf(REQUEST, of)} />
);
/** Of `Delivery.state`. */
export const DeliveryBadge = ({ of }: { readonly of: string }) => (
  <SaidBadge said={saidOf(DELIVERY, of)} />
);
/** Of `Receiver.state`. */
export const ReceiverBadge = ({ of }: { readonly of: string }) => (
  <SaidBadge said={saidOf(RECEIVER, of)} />
);

/** `whitelist` as people say it. */
export const kindText = (kind: string): string => KINDS[kind] ?? kind;

const KINDS: Readonly<Record<string, string>> = {
  kyc: "KYC status",
  transfer_event: "Transfer event",
  test: "Test event",
  whitelist: "Whitelist",
};

/** How an attempt ended: `204`, `500 · the answer was no success`, `the receiver refused the connection`. */
export const attemptText = ({ statusCode, error }: Attempt): string =>
  [statusCode === null ? null : `HTTP ${statusCode}`, error]
    .filter((part) => part !== null)
    .join(" · ");

/** Whether an attempt reached its receiver, who took it. */
export const succeeded = ({ statusCode, error }: Attempt): boolean =>
  error === null && statusCode !== null && statusCode < 300;

/** `12 ms`, `1.4 s`, `3 min 5 s`. */
export const durationText = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000)
    return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  if (ms < 86_400_000)
    return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`;
};

/** A count that ends somewhere: `10,000+`. */
export const boundedText = (count: number, end: number): string =>
  count >= end ? `${countText(end)}+` : countText(count);

/** A moment in a few letters for lists; the whole one in the tooltip. */
export const Since = ({ ms }: { readonly ms: number }) => {
  const now = useNow(10_000);
  return (
    <time
      className="figures whitespace-nowrap"
      dateTime={new Date(ms).toISOString()}
      title={new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC")}
    >
      {relativeText(Math.min(ms, now), now)}
    </time>
  );
};
