/** What operators see of the transfer agent: requests, deliveries and the addresses these go to. */
import { type Reader, reading } from "./read.ts";

/** A page of a list; `next` is the `after` of the following one, null at the end. */
export type Listed<Item> = { readonly items: readonly Item[]; readonly next: string | null };

export type TaRequest = {
  readonly id: string;
  readonly asset: string;
  readonly kind: string;
  /** QUEUED, PENDING, SUCCESS or FAILED. */
  readonly status: string;
  readonly reason: string | null;
  readonly message: string;
  readonly txId: string | null;
  readonly waitsFor: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** A step of a request, oldest first in a history. */
export type RequestStep = {
  readonly atMs: number;
  readonly status: string;
  readonly message: string;
};

export type Attempt = {
  readonly atMs: number;
  /** Scheme and host that it went to. */
  readonly url: string | null;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
};

export type Delivery = {
  /** `webhook-id`. */
  readonly id: string;
  readonly receiver: string;
  readonly url: string;
  readonly type: string;
  readonly requestId: string | null;
  readonly reference: string | null;
  /** pending, withdrawn, delivered, failed or disabled. */
  readonly state: string;
  readonly createdAtMs: number;
  readonly deliveredAtMs: number | null;
  readonly givenUpAtMs: number | null;
  /** When it is tried again; null where nothing is planned or the service does not say. */
  readonly nextAttemptAtMs: number | null;
  readonly attemptCount: number;
  readonly lastAttempt: Attempt | null;
};

export type Receiver = {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly url: string;
  /** open, failing, disabled or withdrawn. */
  readonly state: string;
  readonly reason: string | null;
  readonly sinceMs: number | null;
  readonly failures: number;
  readonly lastError: string | null;
  /** At most 1000: that many or more. */
  readonly pending: number;
};

/** Counts end at 10,000: that many or more. */
export type OfficeSummary = {
  readonly requests: { readonly open: number; readonly failed: number; readonly succeeded: number };
  readonly deliveries: {
    readonly pending: number;
    readonly oldestPendingAtMs: number | null;
    readonly failed: number;
    readonly disabled: number;
  };
  readonly receivers: {
    readonly open: number;
    readonly failing: number;
    readonly disabled: number;
    readonly withdrawn: number;
  };
};

const text = (value: Reader): string => value.text();
const time = (value: Reader): number => Date.parse(value.text());

const request = (it: Reader): TaRequest => ({
  id: it.at("id").text(),
  asset: it.at("asset").text(),
  kind: it.at("kind").text(),
  status: it.at("status").text(),
  reason: it.at("reason").maybe(text),
  message: it.at("message").text(),
  txId: it.at("txId").maybe(text),
  waitsFor: it.at("waitsFor").maybe(text),
  createdAtMs: time(it.at("createdAt")),
  updatedAtMs: time(it.at("updatedAt")),
});

/** A step, as histories have it. */
export const requestStep = (it: Reader): RequestStep => ({
  atMs: time(it.at("at")),
  status: it.at("status").text(),
  message: it.at("message").text(),
});

/** An attempt, as deliveries have it. */
export const attempt = (it: Reader): Attempt => ({
  atMs: time(it.at("at")),
  url: it.at("url").maybe(text),
  statusCode: it.at("statusCode").maybe((code) => code.number()),
  error: it.at("error").maybe(text),
  durationMs: it.at("durationMs").number(),
});

const delivery = (it: Reader): Delivery => ({
  id: it.at("id").text(),
  receiver: it.at("receiver").text(),
  url: it.at("url").text(),
  type: it.at("type").text(),
  requestId: it.at("requestId").maybe(text),
  reference: it.at("reference").maybe(text),
  state: it.at("state").text(),
  createdAtMs: time(it.at("createdAt")),
  deliveredAtMs: it.at("deliveredAt").maybe(time),
  givenUpAtMs: it.at("givenUpAt").maybe(time),
  nextAttemptAtMs: it.at("nextAttemptAt").maybe(time),
  attemptCount: it.at("attemptCount").number(),
  lastAttempt: it.at("lastAttempt").maybe(attempt),
});

const receiver = (it: Reader): Receiver => ({
  id: it.at("id").text(),
  kind: it.at("kind").text(),
  name: it.at("name").text(),
  url: it.at("url").text(),
  state: it.at("state").text(),
  reason: it.at("reason").maybe(text),
  sinceMs: it.at("since").maybe(time),
  failures: it.at("failures").number(),
  lastError: it.at("lastError").maybe(text),
  pending: it.at("pending").number(),
});

const listed =
  <Item>(item: (value: Reader) => Item) =>
  (it: Reader): Listed<Item> => ({
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
export const readSummary = reading(
  "summary",
  (it): OfficeSummary => ({
    requests: {
      open: it.at("requests").at("open").number(),
      failed: it.at("requests").at("failed").number(),
      succeeded: it.at("requests").at("succeeded").number(),
    },
    deliveries: {
      pending: it.at("deliveries").at("pending").number(),
      oldestPendingAtMs: it.at("deliveries").at("oldestPendingAt").maybe(time),
      failed: it.at("deliveries").at("failed").number(),
      disabled: it.at("deliveries").at("disabled").number(),
    },
    receivers: {
      open: it.at("receivers").at("open").number(),
      failing: it.at("receivers").at("failing").number(),
      disabled: it.at("receivers").at("disabled").number(),
      withdrawn: it.at("receivers").at("withdrawn").number(),
    },
  }),
);
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
  message: it.at("message").text(),
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
