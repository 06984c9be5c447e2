/** What operators see of the transfer agent: requests, deliveries and the addresses these go to. */
import { number, type Reader, reading, text, time } from "./read.ts";

const request = (it: Reader) => ({
  id: it.at("id").text(),
  asset: it.at("asset").text(),
  kind: it.at("kind").text(),
  /** QUEUED, PENDING, SUCCESS or FAILED. */
  status: it.at("status").text(),
  reason: it.at("reason").maybe(text),
  message: it.at("message").text(),
  txId: it.at("txId").maybe(text),
  waitsFor: it.at("waitsFor").maybe(text),
  createdAtMs: time(it.at("createdAt")),
  updatedAtMs: time(it.at("updatedAt")),
});
export type TaRequest = ReturnType<typeof request>;

/** A step of a request, oldest first in a history. */
export const requestStep = (it: Reader) => ({
  atMs: time(it.at("at")),
  status: it.at("status").text(),
  message: it.at("message").text(),
});
export type RequestStep = ReturnType<typeof requestStep>;

const attempt = (it: Reader) => ({
  atMs: time(it.at("at")),
  /** Scheme and host that it went to. */
  url: it.at("url").maybe(text),
  statusCode: it.at("statusCode").maybe(number),
  error: it.at("error").maybe(text),
  durationMs: it.at("durationMs").number(),
});
export type Attempt = ReturnType<typeof attempt>;

const delivery = (it: Reader) => ({
  /** `webhook-id`. */
  id: it.at("id").text(),
  receiver: it.at("receiver").text(),
  url: it.at("url").text(),
  type: it.at("type").text(),
  requestId: it.at("requestId").maybe(text),
  /** pending, withdrawn, delivered, failed or disabled. */
  state: it.at("state").text(),
  createdAtMs: time(it.at("createdAt")),
  /** When it is tried again; null where nothing is planned or the service does not say. */
  nextAttemptAtMs: it.at("nextAttemptAt").maybe(time),
  attemptCount: it.at("attemptCount").number(),
  lastAttempt: it.at("lastAttempt").maybe(attempt),
});
export type Delivery = ReturnType<typeof delivery>;

const receiver = (it: Reader) => ({
  id: it.at("id").text(),
  kind: it.at("kind").text(),
  name: it.at("name").text(),
  url: it.at("url").text(),
  /** open, failing, disabled or withdrawn. */
  state: it.at("state").text(),
  reason: it.at("reason").maybe(text),
  sinceMs: it.at("since").maybe(time),
  failures: it.at("failures").number(),
  /** At most 1000: that many or more. */
  pending: it.at("pending").number(),
});
export type Receiver = ReturnType<typeof receiver>;

/** A page of a list; `next` is the `after` of the following one, null at the end. */
const listed =
  <Item>(item: (value: Reader) => Item) =>
  (it: Reader) => ({
    items: it.at("items").list(item),
    next: it.at("next").maybe(text),
  });

/** For `usePath`: each reads the answer of the path it is named for. */
export const readRequests = reading("requests", listed(request));
export const readRequest = reading("request", (it) => ({
  ...request(it),
  history: it.at("history").list(requestStep),
}));
export const readDeliveries = reading("deliveries", listed(delivery));
export const readDelivery = reading("delivery", (it) => ({
  ...delivery(it),
  attempts: it.at("attempts").list(attempt),
}));
export const readReceivers = reading("receivers", listed(receiver));
/** Counts end at 10,000: that many or more. */
export const readSummary = reading("summary", (it) => {
  const [requests, deliveries, receivers] = [
    it.at("requests"),
    it.at("deliveries"),
    it.at("receivers"),
  ];
  return {
    requests: {
      open: requests.at("open").number(),
      failed: requests.at("failed").number(),
      succeeded: requests.at("succeeded").number(),
    },
    deliveries: {
      pending: deliveries.at("pending").number(),
      oldestPendingAtMs: deliveries.at("oldestPendingAt").maybe(time),
      failed: deliveries.at("failed").number(),
      disabled: deliveries.at("disabled").number(),
    },
    receivers: {
      open: receivers.at("open").number(),
      failing: receivers.at("failing").number(),
      disabled: receivers.at("disabled").number(),
      withdrawn: receivers.at("withdrawn").number(),
    },
  };
});
export type OfficeSummary = ReturnType<typeof readSummary>;

export const readRedelivery = reading("redelivery", (it) => ({
  outcome: it.at("outcome").text(),
  message: it.at("message").text(),
}));
export const readRange = reading("redelivery", (it) => ({
  matched: it.at("matched").number(),
  redelivered: it.at("redelivered").number(),
  waiting: it.at("waiting").number(),
  next: it.at("next").maybe(text),
}));
export const readTestEvent = reading("test event", (it) => ({
  deliveryId: it.at("deliveryId").text(),
}));

/** An address with the parameters that are given: `pathWith("/operator/requests", { status })`. */
export const pathWith = (
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) search.set(name, value);
  }
  return search.size === 0 ? path : `${path}?${search}`;
};
